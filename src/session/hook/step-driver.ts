/**
 * The steps of a session, taken by `ralph hook step` in a child process. For host programs that run no Node, or that must not be
 * blocked by checks.
 *
 * 1. No shell: the command is a list of words, and the step goes to its stdin as JSON.
 * 2. The answer is checked before it is believed: the command may be another version of Ralph.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { list, parsed, text } from '../../agents/json.ts';
import {
  describeProblem,
  fields,
  isRecord,
  list as listOf,
  oneOf,
  string,
  variant,
  whole,
} from '../../loop/shape.ts';
import type { Rule } from '../../loop/shape.ts';
import type { Answer } from '../answer.ts';
import type { StepAnswer, StepInput } from '../step.ts';
import { UserError } from '../../user-error.ts';
import type { SessionDriver } from './driver.ts';

export interface StepDriver extends SessionDriver {
  /** Where the loop of a session stands, in lines for people; null if it has none. */
  status(session: string): Promise<readonly string[] | null>;
  /** What a new session should be told about loops that other sessions of its folder have. */
  begin(session: string, workspace: string): Promise<readonly string[]>;
}

/** `commands` are the ways to call Ralph, the best first. `program` is the host program, for people. */
export function stepDriver(
  program: string,
  commands: readonly (readonly string[])[],
  stateDir?: string,
): StepDriver {
  const at = stateDir === undefined ? {} : { stateDir };
  const take = (input: StepInput, hear?: (line: string) => void): Promise<StepAnswer> =>
    ask(program, commands, { ...input, ...at }, hear);
  return {
    async start(request) {
      const answer = await take({ type: 'start', program, ...request });
      if (answer.type !== 'started') throw unexpected(answer);
      return answer;
    },
    async endTurn(session, turn, checking) {
      const progress = checking === undefined ? {} : { progress: true };
      const answer = await take({ type: 'turn', session, turn, ...progress }, (line) => {
        const said = parsed(line);
        if (said['type'] === 'checking') checking?.(list(said['checks']).map(text));
      });
      return decided(answer);
    },
    async look(session) {
      return decided(await take({ type: 'look', session }));
    },
    async cancel(session, loop) {
      const answer = await take({ type: 'cancel', session, loop });
      if (answer.type === 'none') return null;
      if (answer.type !== 'cancelled') throw unexpected(answer);
      return answer.state;
    },
    async status(session) {
      const answer = await take({ type: 'status', session });
      if (answer.type === 'none') return null;
      if (answer.type !== 'status') throw unexpected(answer);
      return answer.lines;
    },
    async begin(session, workspace) {
      const answer = await take({ type: 'begin', session, workspace });
      if (answer.type !== 'begun') throw unexpected(answer);
      return answer.lines;
    },
  };
}

async function ask(
  host: string,
  commands: readonly (readonly string[])[],
  input: StepInput,
  hear: (line: string) => void = () => {},
): Promise<StepAnswer> {
  const step = JSON.stringify(input);
  for (const [program = '', ...args] of commands) {
    // A version manager may have removed this Node or this Ralph.
    if (args[0] !== undefined && !existsSync(args[0])) continue;
    // oxlint-disable-next-line no-await-in-loop -- each is tried only if the one before is missing
    const ended = await run(program, [...args, 'hook', 'step'], step, hear);
    if (ended !== null) return answerIn(ended);
  }
  throw new UserError(
    `cannot find Ralph; in a clone of its repository run: npm ci && npm run build && npm link; then: ralph hook install ${host}`,
  );
}

interface Ended {
  readonly code: number | null;
  /** The last line of its output. */
  readonly output: string;
  readonly errors: string;
}

/** Runs a command to its end; null if there is no such program. `hear` gets each line that it prints. */
function run(
  program: string,
  args: readonly string[],
  input: string,
  hear: (line: string) => void,
): Promise<Ended | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8');
    let [rest, last, errors] = ['', '', ''];
    child.stdout.on('data', (piece: string) => {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) hear(line);
      last = lines.at(-1) ?? last;
    });
    child.stderr.on('data', (piece: Buffer) => {
      errors = (errors + piece.toString()).slice(-MAX_ERRORS);
    });
    // The step may end before it has read everything.
    child.stdin.on('error', () => {});
    child.on('error', (error) => {
      if ('code' in error && error.code === 'ENOENT') resolve(null);
      else reject(error);
    });
    child.on('close', (code) => resolve({ code, output: rest === '' ? last : rest, errors }));
    child.stdin.end(input);
  });
}

const MAX_ERRORS = 4000;

function answerIn({ code, output, errors }: Ended): StepAnswer {
  let answer: unknown;
  try {
    answer = JSON.parse(output);
  } catch {
    const why = errors.trim() || (code === null ? 'it was killed' : `exit code ${code}`);
    throw new UserError(`ralph hook step failed: ${why}`);
  }
  if (isRecord(answer) && answer['type'] === 'error' && typeof answer['message'] === 'string')
    throw new UserError(answer['message']);
  const [problem] = ANSWER(answer, '');
  if (problem !== undefined)
    throw new UserError(`unexpected answer of ralph hook step: ${describeProblem(problem)}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rules below check the fields that are used
  return answer as StepAnswer;
}

/** What a session does next. */
function decided(answer: StepAnswer): Answer {
  switch (answer.type) {
    case 'none':
    case 'continue':
    case 'waiting':
    case 'ended':
      return answer;
    case 'started':
    case 'begun':
    case 'cancelled':
    case 'status':
      throw unexpected(answer);
  }
}

function unexpected({ type }: StepAnswer): UserError {
  return new UserError(`unexpected answer of ralph hook step: ${type}`);
}

const state: Rule = fields({
  iteration: whole(0),
  maxIterations: whole(0),
  completionPromise: string,
  sessionId: string,
});
const texts: Rule = listOf(string);
const type: Rule = oneOf(['none', 'continue', 'waiting', 'ended', 'started', 'begun', 'cancelled', 'status']);
const ANSWER: Rule = variant('type', {
  none: fields({ type }),
  continue: fields({ type, prompt: string, rejected: texts, state, message: string }),
  waiting: fields({ type, state, message: string }),
  ended: fields({ type, outcome: string, state, message: string }),
  started: fields({ type, state, prompt: string, context: string, notes: texts }),
  begun: fields({ type, lines: texts }),
  cancelled: fields({ type, state }),
  status: fields({ type, state, lines: texts }),
});
