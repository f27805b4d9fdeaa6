/** `ralph` in a sandbox, where the state of all loops is hidden: the owner of the sandbox's loop answers for it. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../config/values.ts';
import { isRecord } from '../loop/shape.ts';
import { askOwner } from '../sandbox/ask-owner.ts';
import { STARTS, type SandboxRequest } from '../sandbox/request-shape.ts';
import type { SandboxAnswer } from '../sandbox/requests.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { jsonOf, print, warn } from './print.ts';
import { startIn, type SandboxStart } from './sandbox-start.ts';

/** Runs a command that works in a sandbox, and refuses the others. `folder` is where requests go. */
export async function runInSandbox(args: readonly string[], folder: string): Promise<number> {
  // The buses lie on the desk and a plan in the workspace, which are not hidden.
  if (args[0] === 'bus' || args[0] === 'plan') return (await import('./program.ts')).runProgram(args);
  const [command = 'run', ...rest] = args;
  const words = rest.filter((word) => !word.startsWith('--'));
  const [loop = null, ...more] = words;
  if (command === 'status') return showStatus(folder, loop, rest.includes('--json'));
  if (command === 'tell') return tell(folder, loop, more.join(' '));
  if (command === 'wait') return wait(folder, rest);
  if (command === 'stop') {
    const request = { type: 'stop', loop: required(loop, 'stop'), now: rest.includes('--now') } as const;
    return show(await answered(folder, request));
  }
  const isTask = command.startsWith('-') || /\s/.test(command);
  const start = STARTS.find((one) => one === (isTask ? 'run' : command));
  if (start !== undefined) return startChild(folder, startIn(start, isTask ? args : rest));
  throw new UserError(
    `ralph ${command} does not work inside a sandbox; only ralph status, tell, bus, plan, run, loop, spawn, wait and stop do`,
  );
}

async function showStatus(folder: string, loop: string | null, isJson: boolean): Promise<number> {
  const { text, summary } = await answered(folder, { type: 'status', loop });
  print(`${isJson ? jsonOf(summary, 2) : text}\n`);
  return 0;
}

async function tell(folder: string, loop: string | null, text: string): Promise<number> {
  if (loop === null || text.trim() === '')
    throw new UserError('the message is empty: ralph tell NAME "words for the next prompt"');
  return show(await answered(folder, { type: 'tell', loop, text }));
}

/** Starts a child loop, and shows its end unless it is left in the background. */
async function startChild(folder: string, { request, isDetached, isJson }: SandboxStart): Promise<number> {
  const started = await answered(folder, request, START_MS);
  const name = isRecord(started.summary) ? String(started.summary['name']) : '';
  if (isDetached) return show(isJson ? { text: jsonOf(started.summary, 2) } : started);
  warn(`${started.text}\n`);
  const end = await untilRest(folder, name);
  print(`${end?.text ?? ''}\n`);
  return end?.exitCode ?? 1;
}

/** As outside: exits as the loop does, and 1 after the timeout. */
async function wait(folder: string, args: readonly string[]): Promise<number> {
  const { values, positionals } = waitArguments(args);
  const name = required(positionals[0] ?? null, 'wait');
  const { timeout } = values;
  const rest = await untilRest(
    folder,
    name,
    timeout === undefined ? Infinity : parseDuration('--timeout', timeout),
  );
  if (rest === null) print(`${name}: still running (timeout)\n`);
  // Nothing in a sandbox can resume a loop, so its status says where it stands.
  else print(`${rest.hasEnded ? rest.line : rest.text}\n`);
  return rest === null ? 1 : rest.exitCode;
}

function waitArguments(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: { timeout: { type: 'string' } }, allowPositionals: true });
  } catch (error) {
    const [why = ''] = reasonOf(error).split(/[.\n]/, 1);
    throw new UserError(`ralph wait inside a sandbox: ${why}; it takes only a name and --timeout`);
  }
}

/** Asks again and again until a child loop rests: each answer comes after a while. Null after the timeout. */
async function untilRest(folder: string, name: string, timeoutMs: number = Infinity): Promise<Rest | null> {
  const deadline = Date.now() + timeoutMs;
  for (let left = timeoutMs; left > 0; left = deadline - Date.now()) {
    const request = { type: 'wait', loop: name } as const;
    // oxlint-disable-next-line no-await-in-loop -- until the loop rests
    const answer = await askOwner(folder, request, Math.min(WAIT_MS, left));
    if (answer === null && Date.now() >= deadline) return null;
    const { text, summary } = accepted(answer, request);
    if (!isRecord(summary)) continue;
    const { hasEnded, line, exitCode } = summary;
    return { text, hasEnded: hasEnded === true, line: String(line), exitCode: Number(exitCode) };
  }
  return null;
}

interface Rest {
  readonly text: string;
  readonly hasEnded: boolean;
  /** What `ralph wait` says about it. */
  readonly line: string;
  readonly exitCode: number;
}

/** The answer of the owner, if it does what is asked; throws otherwise. */
async function answered(
  folder: string,
  request: SandboxRequest,
  timeoutMs?: number,
): Promise<Extract<SandboxAnswer, { ok: true }>> {
  return accepted(await askOwner(folder, request, timeoutMs), request);
}

function accepted(
  answer: SandboxAnswer | null,
  request: SandboxRequest,
): Extract<SandboxAnswer, { ok: true }> {
  if (answer === null)
    throw new UserError(
      request.type === 'start'
        ? 'the owner of this loop does not answer; it may have exited. Whether it has started the loop is unknown: ralph status shows it'
        : 'the owner of this loop does not answer; it may have exited. Nothing was changed',
      1,
    );
  if (!answer.ok) throw new UserError(answer.message);
  return answer;
}

function show({ text }: { readonly text: string }): number {
  print(`${text}\n`);
  return 0;
}

function required(loop: string | null, command: string): string {
  if (loop === null) throw new UserError(`name the child loop: ralph ${command} NAME`);
  return loop;
}

/** More than the owner takes for one answer; an owner that takes over needs some time itself. */
const WAIT_MS = 60_000;
const START_MS = 120_000;
