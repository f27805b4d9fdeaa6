/** The end of a turn of Claude Code, from the shell script to the answer, in a copy of the package. */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-turn-')));
  mkdirSync(join(folder, 'work'));
  for (const part of ['dist', 'plugins', 'package.json'])
    cpSync(join(ROOT, part), join(folder, 'package', part), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What the hook answers to an event. */
function hook(event: object, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const front = join(folder, 'package/plugins/claude-code/hooks/ralph-hook.sh');
  const cwd = join(folder, 'work');
  const { PATH } = process.env;
  return spawnSync('/bin/sh', [front, 'claude', ...args], {
    cwd,
    env: { PATH, HOME: folder, RALPH_STATE: join(folder, 'state'), CLAUDE_CODE_SESSION_ID: 's1', ...env },
    input: JSON.stringify({ session_id: 's1', transcript_path: join(folder, 's1.jsonl'), cwd, ...event }),
    encoding: 'utf8',
  }).stdout;
}

function start(): void {
  const command = { command_name: 'ralph', command_args: '"Fix it" --max-iterations=9' };
  expect(hook({ hook_event_name: 'UserPromptExpansion', ...command }, ['start'])).toContain(
    'hookSpecificOutput',
  );
}

function stop(text: string, env: Readonly<Record<string, string>> = {}): string {
  return hook({ hook_event_name: 'Stop', last_assistant_message: text }, [], env);
}

it('takes no lock for a Ralph that is not its own, which may be another version', () => {
  start();
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  const log = join(folder, 'flock.log');
  writeFileSync(log, '');
  writeFileSync(join(bin, 'flock'), `#!/bin/sh\necho "$@" >>'${log}'\n`, { mode: 0o755 });
  writeFileSync(join(bin, 'ralph'), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
  rmSync(join(folder, 'package/dist/cli/main.js'));
  expect(stop('One.', { PATH: bin })).toBe('hook claude\n');
  expect(readFileSync(log, 'utf8')).toBe('');
});

it('takes no step while another process has the lock of the loop', { tags: ['flock'] }, async () => {
  start();
  const [loop = ''] = readdirSync(join(folder, 'state', 'loops'));
  const lock = join(folder, 'state', 'loops', loop, 'lock');
  const owner = spawn('flock', ['-n', lock, 'sh', '-c', 'echo taken; read -r line'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => owner.stdout.once('data', resolve));
  expect(stop('One.')).toBe('');
  const gone = new Promise((resolve) => owner.once('exit', resolve));
  owner.stdin.end();
  await gone;
  expect(stop('One.')).toMatch(/^\{"decision":"block","reason":"/);
});
