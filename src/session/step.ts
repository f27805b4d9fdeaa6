/**
 * `ralph hook step`: the steps of a session for plugins that run in another program. One JSON value in, one JSON value out; a
 * plugin that asks for progress gets it on lines before the answer.
 *
 * 1. Every field is checked before a step; an unknown field is an error, so that a misspelled limit is never ignored.
 * 2. Every answer has a `type`. `error` means that nothing was done, and its `message` is for the person.
 */
import { describeProblem, type Rule } from '../loop/shape.ts';
import {
  flag,
  list,
  moment,
  nullable,
  object,
  oneOf,
  optional,
  rule,
  shortText,
  string,
  variant,
  whole,
} from '../loop/shape.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { UserError } from '../user-error.ts';
import type { Answer } from './answer.ts';
import { ARGUMENTS, text, type RalphArguments } from './arguments.ts';
import {
  cancelSession,
  endedMeanwhile,
  endTurn,
  sessionStatus,
  startSession,
  type StartedSession,
} from './session.ts';
import { loopsOfOthers } from './session-start.ts';
import { isSessionId, type RalphLoopState } from './session-file.ts';
import type { FinishedTurn } from './turn.ts';

export { leaveSteps } from './drive-turn.ts';
export { logStepsTo } from './log.ts';

/** Takes the step that a plugin asks for; throws a `UserError`. */
export async function takeStep(
  input: unknown,
  env: NodeJS.ProcessEnv,
  /** Gets what is said before the answer. */
  say: (progress: StepProgress) => void = () => {},
): Promise<StepAnswer> {
  const step = checked(input);
  switch (step.type) {
    case 'start': {
      const { type: _type, ...request } = step;
      return { type: 'started', ...(await startSession({ ...request, env: startersEnvironment(env) })) };
    }
    case 'turn':
      return await endTurn(step.session, step.turn, step.stateDir, {
        checking: step.progress === true ? (checks) => say({ type: 'checking', checks }) : undefined,
      });
    case 'look':
      return endedMeanwhile(step.session, step.stateDir);
    case 'begin':
      return { type: 'begun', lines: loopsOfOthers(step.session, step.workspace, step.stateDir) };
    case 'cancel': {
      const state = await cancelSession(step.session, step.stateDir, step.loop);
      return state === null ? { type: 'none' } : { type: 'cancelled', state };
    }
    case 'status': {
      const status = await sessionStatus(step.session, step.stateDir);
      return status === null ? { type: 'none' } : { type: 'status', ...status };
    }
  }
}

export type StepInput =
  | {
      readonly type: 'start';
      readonly session: string;
      /** The host program, for people. */
      readonly program: string;
      /** An absolute path. */
      readonly workspace: string;
      readonly asked: RalphArguments;
      readonly description?: string | undefined;
      readonly stateDir?: string | undefined;
    }
  | {
      readonly type: 'turn';
      readonly session: string;
      readonly turn: FinishedTurn;
      /** Says on a line before the answer that checks run. */
      readonly progress?: boolean | undefined;
      readonly stateDir?: string | undefined;
    }
  /** A session has begun. */
  | {
      readonly type: 'begin';
      readonly session: string;
      /** An absolute path. */
      readonly workspace: string;
      readonly stateDir?: string | undefined;
    }
  | { readonly type: 'look'; readonly session: string; readonly stateDir?: string | undefined }
  | {
      readonly type: 'cancel';
      readonly session: string;
      /** Only this loop of the session, also if it is not its current one. */
      readonly loop?: string | undefined;
      readonly stateDir?: string | undefined;
    }
  | { readonly type: 'status'; readonly session: string; readonly stateDir?: string | undefined };

/** What a step says before its answer. */
export interface StepProgress {
  readonly type: 'checking';
  readonly checks: readonly string[];
}

export type StepAnswer =
  | Answer
  | ({ readonly type: 'started' } & StartedSession)
  /** What the person should know about loops of other sessions. */
  | { readonly type: 'begun'; readonly lines: readonly string[] }
  | { readonly type: 'cancelled'; readonly state: RalphLoopState }
  | { readonly type: 'status'; readonly state: RalphLoopState; readonly lines: readonly string[] };

function checked(input: unknown): StepInput {
  const [problem] = STEP(input, '');
  if (problem !== undefined) throw new UserError(`invalid step: ${describeProblem(problem)}`);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rules below check every field of the type
  return input as StepInput;
}

const session: Rule = rule('1 to 128 letters, digits, "-", "_" or "."', isSessionId);
const path: Rule = rule(
  'an absolute path',
  (value) =>
    typeof value === 'string' && value.startsWith('/') && value.length <= 4096 && !value.includes('\0'),
);
const count: Rule = whole(0);
const amount: Rule = rule(
  'a number >= 0',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
);

const turn: Rule = object({
  messages: list(object({ role: oneOf(['assistant', 'reasoning', 'tool', 'user']), text: string })),
  steps: optional(count),
  tokens: optional(object({ input: count, output: count, cacheRead: count, cacheWrite: count })),
  costUsd: optional(amount),
  model: optional(shortText(200)),
  error: optional(object({ message: text, limit: optional(object({ resetsAt: nullable(moment) })) })),
} satisfies Record<keyof FinishedTurn, Rule>);

const type: Rule = oneOf(['start', 'begin', 'turn', 'look', 'cancel', 'status']);
const stateDir = optional(path);
const STEP: Rule = variant('type', {
  start: object({
    type,
    session,
    program: rule('1 to 32 letters, digits or "-"', (value) =>
      typeof value === 'string' ? /^[A-Za-z0-9-]{1,32}$/.test(value) : false,
    ),
    workspace: path,
    asked: object(ARGUMENTS),
    description: optional(text),
    stateDir,
  }),
  turn: object({ type, session, turn, progress: optional(flag), stateDir }),
  begin: object({ type, session, workspace: path, stateDir }),
  look: object({ type, session, stateDir }),
  cancel: object({ type, session, loop: optional(shortText(1000)), stateDir }),
  status: object({ type, session, stateDir }),
});
