/** The plugin for Claude Code, and the shell script before `ralph hook`. */
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isRecord } from '../../src/loop/shape.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PLUGIN = join(ROOT, 'plugins', 'claude-code');
const FRONT = join(PLUGIN, 'hooks', 'ralph-hook.sh');

function json(path: string): Record<string, unknown> {
  const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
  return isRecord(value) ? { ...value } : {};
}

describe('the script before ralph hook', () => {
  let folder: string;
  let front: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ralph-front-'));
    front = put('package/plugins/claude-code/hooks/ralph-hook.sh', readFileSync(FRONT, 'utf8'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  function put(path: string, content: string): string {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode: 0o755 });
    return file;
  }

  /** Runs the script with a PATH that has only the given programs: they print their name, their arguments and stdin. */
  function run(
    args: readonly string[],
    programs: readonly string[],
    env: Readonly<Record<string, string>> = {},
    input = '{"prompt":"$(touch pwned) `id`"}\n',
  ) {
    const bin = join(folder, 'bin');
    rmSync(bin, { recursive: true, force: true });
    mkdirSync(bin);
    for (const name of programs) {
      put(
        `bin/${name}`,
        `#!/bin/sh\nprintf '%s ' ${name} "$@"\nwhile IFS= read -r line; do printf '%s' "$line"; done\n`,
      );
    }
    const given = { PATH: bin, HOME: join(folder, 'home'), ...env };
    const { status, stdout, stderr } = spawnSync('/bin/sh', [front, ...args], {
      env: given,
      input,
      encoding: 'utf8',
    });
    return { status, stdout, stderr };
  }

  function session(state: string, id = 's1'): void {
    mkdirSync(join(folder, state, 'sessions', id), { recursive: true });
  }

  const NOTHING = { status: 0, stdout: '', stderr: '' };
  const STDIN = '{"prompt":"$(touch pwned) `id`"}';

  it('starts no program and prints nothing while no session has a loop', () => {
    put('package/dist/cli/main.js', '');
    expect(run(['claude'], ['node', 'ralph'])).toEqual(NOTHING);
    mkdirSync(join(folder, 'home/.local/state/ralph/sessions'), { recursive: true });
    expect(run(['claude'], ['node', 'ralph'])).toEqual(NOTHING);
  });

  it.each([
    ['the home folder', 'home/.local/state/ralph', () => ({})],
    ['XDG_STATE_HOME', 'xdg/ralph', () => ({ XDG_STATE_HOME: join(folder, 'xdg') })],
    ['RALPH_STATE', 'mine', () => ({ RALPH_STATE: join(folder, 'mine'), XDG_STATE_HOME: '/nowhere' })],
    [
      'the home folder, as XDG_STATE_HOME is not absolute',
      'home/.local/state/ralph',
      () => ({ XDG_STATE_HOME: 'xdg' }),
    ],
  ])('asks ralph if a session has a loop in %s', (_, state, env) => {
    session(state);
    expect(run(['claude'], ['ralph'], env())).toEqual({ ...NOTHING, stdout: `ralph hook claude ${STDIN}` });
  });

  it('asks ralph only for the session of Claude Code that has a loop', () => {
    session('home/.local/state/ralph');
    expect(run(['claude'], ['ralph'], { CLAUDE_CODE_SESSION_ID: 's2' })).toEqual(NOTHING);
    expect(run(['claude'], ['ralph'], { CLAUDE_CODE_SESSION_ID: 's1' }).stdout).toContain(
      'ralph hook claude',
    );
    // Codex may run inside Claude Code.
    expect(run(['codex'], ['ralph'], { CLAUDE_CODE_SESSION_ID: 's2' }).stdout).toContain('ralph hook codex');
  });

  it('prefers the package that it is part of', () => {
    put('package/dist/cli/main.js', '');
    session('home/.local/state/ralph');
    expect(run(['codex'], ['node', 'ralph']).stdout).toMatch(
      /^node \S*\/dist\/cli\/main\.js hook codex \{"prompt"/,
    );
    expect(run(['codex'], ['ralph']).stdout).toBe(`ralph hook codex ${STDIN}`);
  });

  it('prefers rud, since another package may own ralph', () => {
    session('home/.local/state/ralph');
    expect(run(['codex'], ['ralph', 'rud']).stdout).toBe(`rud hook codex ${STDIN}`);
    expect(run(['codex'], ['node', 'ralph', 'rud']).stdout).toBe(`rud hook codex ${STDIN}`);
  });

  it('keeps Node.js from reading certificates, and names them to ralph', () => {
    session('home/.local/state/ralph');
    const ralph = put('own/ralph', '#!/bin/sh\necho "${NODE_EXTRA_CA_CERTS-none} $RALPH_EXTRA_CA_CERTS"\n');
    const env = { PATH: dirname(ralph), NODE_EXTRA_CA_CERTS: '/a b/$(id).pem' };
    const { stdout } = run(['claude'], [], env);
    expect(stdout.trim()).toBe('none /a b/$(id).pem');
  });

  it('always asks ralph for the commands', () => {
    expect(run(['claude', 'start'], ['ralph']).stdout).toBe(`ralph hook claude ${STDIN}`);
  });

  it('says how to install ralph when a command needs it', () => {
    const { status, stdout, stderr } = run(['claude', 'start'], []);
    expect([status, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'block' });
    expect(stdout).toContain(
      'Ralph cannot run: the command ralph is not on the PATH. In a clone of its repository run: npm ci',
    );
  });

  it.each(['claude', 'codex'])(
    'says in the session of %s that has a loop that ralph or node is missing',
    (program) => {
      session('home/.local/state/ralph', 's1');
      const input = (id: string): string => `{"session_id":"${id}","prompt":"$(touch pwned)"}\n`;
      for (const mode of ['prompt', 'begin', '']) {
        expect(run([program, mode], [], {}, input('s2'))).toEqual(NOTHING);
        const { status, stdout } = run([program, mode], [], {}, input('s1'));
        expect([status, JSON.parse(stdout)]).toEqual([
          0,
          {
            systemMessage:
              'Ralph loop: not continued: the command ralph is not on the PATH. In a clone of its repository run: npm ci && npm run build && npm link, then type anything to continue the loop.',
          },
        ]);
      }
      // What npm links is a script of Node.js.
      const ralph = put('linked/ralph', '#!/usr/bin/env no-such-node\n');
      expect(run([program], [], { PATH: dirname(ralph) }, input('s1')).stdout).toContain(
        'the command node is not on the PATH',
      );
      put('package/dist/cli/main.js', '');
      expect(run([program], [], {}, input('s1')).stdout).toContain('the command node is not on the PATH');
    },
  );

  it('asks ralph about a message that begins with /ralph, which Claude Code may not take for a command', () => {
    const input = String.raw`{"session_id":"s1","prompt":"/ralph \"$(touch pwned)\n%s \\ a\""}`;
    expect(run(['claude', 'prompt'], ['ralph'], {}, `${input}\n`).stdout).toBe(`ralph hook claude ${input}`);
    for (const other of ['Fix /ralph', String.raw`\"prompt\":\"/ralph x`])
      expect(run(['claude', 'prompt'], ['ralph'], {}, `{"prompt":"${other}"}\n`)).toEqual(NOTHING);
    session('home/.local/state/ralph', 's1');
    const env = { CLAUDE_CODE_SESSION_ID: 's1' };
    expect(run(['claude', 'prompt'], ['ralph'], env).stdout).toBe(`ralph hook claude ${STDIN}`);
    expect(run(['claude', 'prompt'], ['ralph'], { CLAUDE_CODE_SESSION_ID: 's2' })).toEqual(NOTHING);
  });

  it('asks ralph at the start of a session if another one has a loop', () => {
    expect(run(['claude', 'begin'], ['ralph'])).toEqual(NOTHING);
    session('home/.local/state/ralph', 's1');
    const { stdout } = run(['claude', 'begin'], ['ralph'], { CLAUDE_CODE_SESSION_ID: 's2' });
    expect(stdout).toBe(`ralph hook claude ${STDIN}`);
  });
});

describe('the plugin for Claude Code', () => {
  it('is listed by the marketplace of this repository, and part of the package', () => {
    const { plugins } = json(join(ROOT, '.claude-plugin', 'marketplace.json'));
    expect(plugins).toMatchObject([{ name: 'ralph', source: './plugins/claude-code' }]);
    expect(json(join(PLUGIN, '.claude-plugin', 'plugin.json'))).toMatchObject({
      name: 'ralph',
      license: 'MIT',
    });
    expect(json(join(ROOT, 'package.json'))['files']).toEqual(
      expect.arrayContaining(['plugins', '.claude-plugin']),
    );
  });

  it('calls an executable script with arguments, never through a shell', () => {
    accessSync(FRONT, constants.X_OK);
    const text = readFileSync(join(PLUGIN, 'hooks', 'hooks.json'), 'utf8');
    const commands = [...text.matchAll(/"command": "([^"]*)",\s*"args": \["claude"/g)].map(
      ([, command]) => command,
    );
    expect(new Set(commands)).toEqual(new Set(['${CLAUDE_PLUGIN_ROOT}/hooks/ralph-hook.sh']));
    expect(commands).toHaveLength([...text.matchAll(/"type": "command"/g)].length);
  });

  it('S5.43 S5.45 has a file for each command, with a name that works without the prefix of the plugin', () => {
    const folder = join(PLUGIN, 'commands');
    expect(readdirSync(folder).toSorted()).toEqual(['cancel-ralph.md', 'ralph-status.md', 'ralph.md']);
    for (const file of readdirSync(folder)) {
      const text = readFileSync(join(folder, file), 'utf8');
      expect(text).toContain(`\nname: ${file.replace('.md', '')}\n`);
      // Only people start and end loops.
      expect(text).toContain('\ndisable-model-invocation: true\n');
      // The agent is told what to say if hooks are switched off.
      expect(text).toContain('disableAllHooks');
      expect(text).toContain('allowManagedHooksOnly');
      // Text of a person never meets a shell.
      expect(text).not.toMatch(/!`|\$ARGUMENTS|allowed-tools/);
    }
  });
});
