/** The plugin for Codex, and the shell script before `ralph hook` that looks at every message. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRecord } from '../../src/loop/shape.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PLUGIN = join(ROOT, 'plugins', 'codex');

function json(...path: readonly string[]): Record<string, unknown> {
  const value: unknown = JSON.parse(readFileSync(join(...path), 'utf8'));
  return isRecord(value) ? { ...value } : {};
}

describe('the script that looks at every message to Codex', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ralph-front-'));
    // As in Codex's cache, where there is nothing else of this package.
    cpSync(join(PLUGIN, 'hooks'), join(folder, 'cache', 'hooks'), { recursive: true });
    mkdirSync(join(folder, 'bin'));
    const ralph = `#!/bin/sh\nprintf '%s ' ralph "$@"\nwhile IFS= read -r line; do printf '%s' "$line"; done\n`;
    writeFileSync(join(folder, 'bin', 'ralph'), ralph, { mode: 0o755 });
    writeFileSync(join(folder, 'bin', 'sh'), '#!/bin/sh\nexec /bin/sh "$@"\n', { mode: 0o755 });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function hear(input: string): { status: number | null; stdout: string; stderr: string } {
    const env = { PATH: join(folder, 'bin'), HOME: folder };
    const options = { env, input, cwd: folder, encoding: 'utf8' } as const;
    const script = join(folder, 'cache', 'hooks', 'codex-prompt.sh');
    const { status, stdout, stderr } = spawnSync('/bin/sh', [script], options);
    return { status, stdout, stderr };
  }

  const input = (prompt: string): string =>
    JSON.stringify({ session_id: 's1', cwd: '/ralph', hook_event_name: 'UserPromptSubmit', prompt });

  it.each(['/ralph "a" --check "x"', '$ralph:ralph $(touch pwned) `touch pwned` \\n %s "', '/cancel-ralph'])(
    'asks Ralph about %j, with its text as it is',
    (prompt) => {
      expect(hear(input(prompt))).toEqual({
        status: 0,
        stdout: `ralph hook codex ${input(prompt)}`,
        stderr: '',
      });
      expect(readdirSync(folder).toSorted()).toEqual(['bin', 'cache']);
    },
  );

  it('asks Ralph also if the input has several lines', () => {
    const lines = JSON.stringify({ prompt: '/ralph task' }, null, 2);
    expect(hear(`${lines}\n`).stdout).toBe(`ralph hook codex ${lines.replaceAll('\n', '')}`);
  });

  it.each([input('Fix the build'), '', 'nonsense'])('starts no program and prints nothing for %j', (text) => {
    expect(hear(text)).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('says how to install Ralph if it is missing', () => {
    rmSync(join(folder, 'bin', 'ralph'));
    const { status, stdout } = hear(input('/ralph task'));
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'block' });
  });
});

describe('the plugin for Codex', () => {
  it('has the same script before ralph hook as the one for Claude Code', () => {
    const front = (plugin: string): string =>
      readFileSync(join(ROOT, 'plugins', plugin, 'hooks', 'ralph-hook.sh'), 'utf8');
    expect(front('codex')).toBe(front('claude-code'));
  });

  it('is in the marketplace file that Codex reads before that of Claude Code', () => {
    const { name, plugins } = json(ROOT, '.agents', 'plugins', 'marketplace.json');
    expect(name).toBe(json(ROOT, '.claude-plugin', 'marketplace.json')['name']);
    expect(plugins).toMatchObject([{ name: 'ralph', source: './plugins/codex' }]);
    expect(json(PLUGIN, '.codex-plugin', 'plugin.json')).toMatchObject({
      name: 'ralph',
      version: json(ROOT, 'package.json')['version'],
    });
  });

  it('has the hooks that Codex knows, with timeouts that it accepts', () => {
    const { hooks } = json(PLUGIN, 'hooks', 'hooks.json');
    expect(hooks).toMatchObject({
      UserPromptSubmit: [{ hooks: [{ command: 'sh "$PLUGIN_ROOT/hooks/codex-prompt.sh"' }] }],
      // The checks run in it, each with its own timeout.
      Stop: [{ hooks: [{ command: 'sh "$PLUGIN_ROOT/hooks/ralph-hook.sh" codex', timeout: 86_400 }] }],
      // Codex warns in every session about more than 3 seconds.
      Interrupt: [{ hooks: [{ timeout: 3 }] }],
    });
  });

  it('has a skill per command, which only a person can choose', () => {
    const skills = join(PLUGIN, 'skills');
    expect(readdirSync(skills).toSorted()).toEqual(['cancel-ralph', 'ralph', 'ralph-status']);
    for (const name of readdirSync(skills)) {
      const text = readFileSync(join(skills, name, 'SKILL.md'), 'utf8');
      expect(text).toMatch(new RegExp(`^---\nname: ${name}\ndescription: `));
      expect(text).toContain('`/hooks`');
      const policy = readFileSync(join(skills, name, 'agents', 'openai.yaml'), 'utf8');
      expect(policy).toContain('allow_implicit_invocation: false');
    }
  });
});
