/**
 * The wake lock of this process: one helper program that keeps the machine awake while anything in this process asks for it.
 *
 * 1. The helper ends with this process, also if that is killed: `systemd-inhibit` runs `cat`, which ends when our end of its
 *    pipe is closed, and `caffeinate` watches our process.
 * 2. It has its own session and almost no environment, so that neither Ctrl-C nor the end of a run concerns it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';

/** Keeps the machine awake until the returned function is called. `refused` is told why that is not possible. */
export function stayAwake(refused: (why: string) => void): () => void {
  const holder = { refused };
  holders.add(holder);
  try {
    helper ??= startHelper();
  } catch (error) {
    // Without memory, for example; the loop runs all the same.
    refused(`its helper cannot be started: ${error instanceof Error ? error.message : String(error)}`);
  }
  return () => {
    holders.delete(holder);
    if (holders.size > 0 || helper === null) return;
    endHelper(helper);
    helper = null;
  };
}

interface Holder {
  readonly refused: (why: string) => void;
}

const holders = new Set<Holder>();
let helper: ChildProcess | null = null;

function startHelper(): ChildProcess {
  const [program, ...args] = argv();
  const child = spawn(program, args, {
    cwd: '/',
    env: environment(),
    stdio: ['pipe', 'ignore', 'pipe'],
    detached: true,
  });
  let complaint = '';
  let hasFailed = false;
  const fail = (why: string): void => {
    if (helper !== child || hasFailed) return;
    hasFailed = true;
    // The next one that asks tries again.
    helper = null;
    const [first] = holders;
    first?.refused(why);
  };
  child.once('error', (error) => {
    const isMissing = 'code' in error && error.code === 'ENOENT';
    fail(isMissing ? `${program} is not installed` : `${program} cannot be started: ${error.message}`);
  });
  child.once('close', (code) => {
    const [why = ''] = complaint.trim().split('\n', 1);
    const ended = code === null ? 'it was killed' : `it ended with exit code ${code}`;
    fail(`${program}: ${why === '' ? ended : why}`);
  });
  // It must not keep this process alive.
  child.unref();
  for (const stream of [child.stdin, child.stderr]) {
    stream?.on('error', () => {});
    if (stream instanceof Socket) stream.unref();
  }
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, MAX_COMPLAINT);
  });
  return child;
}

const MAX_COMPLAINT = 1000;

function argv(): readonly [string, ...string[]] {
  if (process.platform === 'darwin') return ['caffeinate', '-i', '-w', String(process.pid)];
  return [
    'systemd-inhibit',
    '--what=idle:sleep',
    '--mode=block',
    '--who=Ralph',
    '--why=a loop is running',
    'cat',
  ];
}

function environment(): Record<string, string> {
  const names = ['PATH', 'HOME', 'DBUS_SYSTEM_BUS_ADDRESS'];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Closing its input ends `cat`; the signal ends a helper that has not started it yet, and `caffeinate`. */
function endHelper(child: ChildProcess): void {
  child.stdin?.end();
  if (process.platform === 'darwin' || child.exitCode === null) child.kill('SIGTERM');
}
