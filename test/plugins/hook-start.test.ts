/** The end of a turn of Claude Code, from the shell script to the answer, in a copy of the package. */
import { spawn, spawnSync, type SpawnSyncReturns } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  readlinkSync,
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
let sessions: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-turn-')));
  sessions = join(folder, 'state', 'ralph', 'sessions');
  mkdirSync(join(folder, 'work'));
  for (const part of ['dist', 'plugins', 'package.json'])
    cpSync(join(ROOT, part), join(folder, 'package', part), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function hook(
  word: string,
  event: object,
  env: Readonly<Record<string, string>> = {},
): SpawnSyncReturns<string> {
  const { PATH } = process.env;
  return spawnSync(
    '/bin/sh',
    [join(folder, 'package/plugins/claude-code/hooks/ralph-hook.sh'), 'claude', word],
    {
      cwd: join(folder, 'work'),
      env: {
        PATH,
        HOME: folder,
        XDG_STATE_HOME: join(folder, 'state'),
        CLAUDE_CODE_SESSION_ID: 's1',
        ...env,
      },
      input: JSON.stringify({
        session_id: 's1',
        transcript_path: transcript(),
        cwd: join(folder, 'work'),
        ...event,
      }),
      encoding: 'utf8',
    },
  );
}

function transcript(): string {
  return join(folder, 's1.jsonl');
}

function start(options = ''): void {
  const { stdout } = hook('start', {
    hook_event_name: 'UserPromptExpansion',
    command_name: 'ralph',
    command_args: `"Fix it" --max-iterations=9 ${options}`,
  });
  expect(stdout).toContain('hookSpecificOutput');
}

/** A turn with a tool call and the usage of tokens. */
function turn(text = 'I go on.', env: Readonly<Record<string, string>> = {}): SpawnSyncReturns<string> {
  const usage = { input_tokens: 1000, output_tokens: 100 };
  for (const content of [
    { type: 'tool_use', id: 't', name: 'Bash', input: {} },
    { type: 'text', text },
  ]) {
    const message = { id: `${text} ${content.type}`, model: 'claude-sonnet-4-5', content: [content], usage };
    appendFileSync(
      transcript(),
      `${JSON.stringify({ type: 'user', message: { role: 'user', content: 'go' } })}\n`,
    );
    appendFileSync(transcript(), `${JSON.stringify({ type: 'assistant', message })}\n`);
  }
  return hook('stop', { hook_event_name: 'Stop', last_assistant_message: text }, env);
}

/** A folder with only these programs, in which `flock` writes its caller down. */
function programs(): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  symlinkSync(process.execPath, join(bin, 'node'));
  const log = join(folder, 'flock.log');
  writeFileSync(log, '');
  writeFileSync(
    join(bin, 'flock'),
    `#!/bin/sh\nread -r caller _ </proc/$PPID/comm\necho "$caller" >>'${log}'\nPATH='${process.env['PATH'] ?? ''}' exec flock "$@"\n`,
    { mode: 0o755 },
  );
  return bin;
}

const CONTINUES = /^\{"decision":"block","reason":"/;

it('loads only one file of the hook, although it has tokens to price', { tags: ['flock'] }, () => {
  start();
  turn();
  rmSync(join(folder, 'package/dist/cli/hook-late.js'));
  const { status, stdout, stderr } = turn('Still at it.');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(CONTINUES);
});

it.runIf(process.platform === 'linux')(
  'takes the lock of the loop before Node.js starts, and only once',
  { tags: ['flock'] },
  () => {
    start();
    const bin = programs();
    expect(turn('One.', { PATH: bin }).stdout).toMatch(CONTINUES);
    expect(readFileSync(join(folder, 'flock.log'), 'utf8')).toBe('sh\n');
    // Without its name, the front does not know which session it is.
    expect(turn('Two.', { PATH: bin, CLAUDE_CODE_SESSION_ID: '' }).stdout).toMatch(CONTINUES);
    expect(readFileSync(join(folder, 'flock.log'), 'utf8')).toBe('sh\nnode\n');
  },
);

it('takes no lock for a Ralph that is not its own, which may be another version', () => {
  start();
  const bin = programs();
  writeFileSync(join(bin, 'ralph'), '#!/bin/sh\necho "$* ${RALPH_HOOK_LOCK-none}"\n', { mode: 0o755 });
  rmSync(join(folder, 'package/dist/cli/main.js'));
  expect(turn('One.', { PATH: bin }).stdout).toBe('hook claude none\n');
  expect(readFileSync(join(folder, 'flock.log'), 'utf8')).toBe('');
});

it('takes no step while another process has the lock of the loop', { tags: ['flock'] }, async () => {
  start();
  const lock = readlinkSync(join(sessions, 's1', 'lock'));
  const owner = spawn('flock', ['-n', lock, 'sh', '-c', 'echo taken; read -r line'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => owner.stdout.once('data', resolve));
  expect(turn('One.').stdout).toBe('');
  const gone = new Promise((resolve) => owner.once('exit', resolve));
  owner.stdin.end();
  await gone;
  expect(turn('One.').stdout).toMatch(CONTINUES);
});

it('does not give the lock of the front to another loop, to checks or to later turns', () => {
  start(`--check 'test -z "$RALPH_HOOK_LOCK" && test ! -e /proc/self/fd/9'`);
  // A lock of another file says nothing about the loop's.
  const link = join(sessions, 's1', 'lock');
  const lock = readlinkSync(link);
  rmSync(link);
  writeFileSync(join(folder, 'other'), '');
  symlinkSync(join(folder, 'other'), link);
  expect(turn('One.').stdout).toMatch(CONTINUES);
  rmSync(link);
  symlinkSync(lock, link);
  expect(turn('Two.').stdout).toMatch(CONTINUES);
  expect(turn('<promise>DONE</promise>').stdout).toContain('ended after 3 iterations');
});
