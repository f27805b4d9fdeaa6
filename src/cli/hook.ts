/**
 * `ralph hook claude|codex|step`, which host programs call.
 *
 * 1. A hook of Claude Code or Codex never exits with 2: there that means "go on", whatever went wrong.
 * 2. Only the answer is on stdout, as one line of JSON. `step` answers with its errors too, for the plugin to show.
 */
import { PROGRAMS } from '../programs/programs.ts';
import { leaveSteps, logStepsTo, takeStep } from '../session/step.ts';
import { UserError } from '../user-error.ts';
import { explainError, explanationOf } from './errors.ts';
import { printJson, warn } from './print.ts';

/** Reads one JSON value from stdin and prints the answer. */
export async function hookCommand(program: string): Promise<number> {
  try {
    const answer = program === 'step' ? takeStep : (PROGRAMS[program]?.hook ?? null);
    if (answer === null) throw new UserError(`ralph hook ${program} is not supported by this version`);
    logStepsTo({ info() {}, warn: note, error: note });
    const interrupted = onSignal();
    setCertificatesAgain(process.env);
    const given = await answer(parsed(await stdin(program), program), process.env, printJson);
    // The session has not waited for the answer.
    if (interrupted() !== null) return interrupted() ?? 0;
    if (given !== null) printJson(given);
    const { wakeForNotices } = await import('../background/background.ts');
    await wakeForNotices();
    return 0;
  } catch (error) {
    if (program === 'step') return answerError(error);
    explainError(error);
    return 1;
  }
}

/** Only the answer is for stdout. */
function note(message: string): void {
  warn(`${message}\n`);
}

/** The front of the hooks hides this variable from Node.js, which would read the certificates before it starts. */
function setCertificatesAgain(env: NodeJS.ProcessEnv): void {
  const file = env['RALPH_EXTRA_CA_CERTS'];
  if (file === undefined) return;
  env['NODE_EXTRA_CA_CERTS'] = file;
  delete env['RALPH_EXTRA_CA_CERTS'];
}

/** A signal ends the check that runs, which would outlive this process. The result is the exit code after a signal. */
function onSignal(): () => number | null {
  let code: number | null = null;
  for (const [signal, number] of SIGNALS)
    process.on(signal, () => {
      code = 128 + number;
      if (!leaveSteps()) process.exit(code);
    });
  return () => code;
}

const SIGNALS = [
  ['SIGHUP', 1],
  ['SIGINT', 2],
  ['SIGTERM', 15],
] as const;

function answerError(error: unknown): number {
  const { message, exitCode } = explanationOf(error);
  printJson({ type: 'error', message });
  return exitCode;
}

function parsed(text: string, program: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const got = text.trim() === '' ? 'got nothing' : `and this is not JSON: ${text.slice(0, 80)}`;
    throw new UserError(`ralph hook ${program} reads JSON from stdin, ${got}`);
  }
}

/** Everything on stdin, up to a limit. */
async function stdin(program: string): Promise<string> {
  if (process.stdin.isTTY)
    throw new UserError(
      `ralph hook ${program} is called by programs; start a loop in a session with /ralph "task"`,
    );
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_INPUT) throw new UserError(`stdin is longer than ${MAX_INPUT} bytes`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

const MAX_INPUT = 16 * 1024 * 1024;
