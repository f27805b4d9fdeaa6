/**
 * Loops inside a session: the steps that a host program asks for (docs/decisions/0026).
 *
 * 1. A session's loop is found by the session's id, never by a folder. A loop of another session, or of none, is not touched,
 *    whatever the state says.
 * 2. Every step takes the loop's lock, drives the engine until the session has to act, and leaves (`drive-turn.ts`).
 * 3. What a step decides comes from the engine. This file only gives it the finished turn and passes the prompt on.
 * 4. What a person could ask for in a terminal, too, goes through the hall: where the loop stands, and its end.
 */
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Policy } from '../loop/policy.ts';
import { openRun } from '../loop/run.ts';
import { fits } from '../loop/shape.ts';
import type { LoopState } from '../loop/state.ts';
import { enclosingRuns } from '../home/enclosing-runs.ts';
import { endRecord } from '../projections/end-record.ts';
import { queuedControls } from '../home/inbox.ts';
import { findFolder, readLoopOf, specIn } from '../home/read-loop.ts';
import { isInSession, loopId } from '../home/spec.ts';
import { loopsFolder, type LoopFolder } from '../home/home.ts';
import type { Loops, Sent } from '../loops/loops.ts';
import { AlreadyOwned } from '../owner/refusals.ts';
import { visible } from '../text/one-line.ts';
import { UserError } from '../user-error.ts';
import type { Answer } from './answer.ts';
import type { RalphArguments } from './arguments.ts';
import { continued, ended, removed, stopping, waiting, statusLines } from '../text/session.ts';
import { driveOnce, takeTurn, Turns } from './drive-turn.ts';
import {
  allStates,
  clearState,
  damagedState,
  isSessionId,
  readState,
  sessionsFolder,
  writeState,
  type RalphLoopState,
} from './session-file.ts';
import type { FinishedTurn } from './turn.ts';

export interface SessionRequest {
  readonly session: string;
  /** The host program, for people: `claude`, `codex`, `opencode`, `hook`. */
  readonly program: string;
  readonly workspace: string;
  readonly asked: RalphArguments;
  readonly description?: string | undefined;
  /** How long to wait before a continuation (default: 0). */
  readonly delayMs?: number | undefined;
  /** The environment of the checks. */
  readonly env: Readonly<Record<string, string>>;
  readonly stateDir?: string | undefined;
}

export interface StartedSession {
  readonly state: RalphLoopState;
  /** The task as the session gets it. */
  readonly prompt: string;
  /** What the agent has to know beside the task. */
  readonly context: string;
  /** The commands that decide about a promise. */
  readonly checks: readonly string[];
  /** What the person should know. */
  readonly notes: readonly string[];
}

/** Starts a loop in a session, in place of the one that it has. Throws a `UserError`; then nothing has changed. */
export async function startSession(request: SessionRequest): Promise<StartedSession> {
  const { session, program, asked, description, delayMs = 0, env, stateDir } = request;
  if (!isSessionId(session))
    throw new UserError(
      `invalid session id ${JSON.stringify(session)}: expected 1 to 128 letters, digits, "-", "_" or "."`,
    );
  if (enclosingRuns().length > 0)
    throw new UserError('this session is the agent of a running loop; it cannot have a loop of its own');
  if (!existsSync(request.workspace)) throw new UserError(`there is no folder ${visible(request.workspace)}`);
  const workspace = realpathSync(request.workspace);
  // Not needed to end a turn, which is to be fast: what reads settings and creates loops is half of all code.
  const [{ changedInSession, startOf }, { create }, { Rights }] = await Promise.all([
    import('./session-request.ts'),
    import('../loops/create.ts'),
    import('../loops/rights.ts'),
  ]);
  const turns = new Turns(null);
  const created = await create(startOf(workspace, asked), new Rights(), {
    async more(made) {
      await cancelSession(session, stateDir);
      forgetEnded(stateDir);
      return { ...changedInSession(made, asked, delayMs), env, session, tags: [program], turns };
    },
  });
  const loop = created.own();
  const { policy } = loop.state;
  const [detector] = policy.completion.detectors;
  const promise = detector !== undefined && 'value' in detector ? detector.value : '';
  const state: RalphLoopState = {
    active: true,
    iteration: 1,
    maxIterations: policy.limits.iterations ?? Number.MAX_SAFE_INTEGER,
    completionPromise: promise,
    startedAt: new Date().toISOString(),
    prompt: asked.prompt,
    sessionId: session,
    ...(description === undefined ? {} : { description }),
    loop: loop.spec.id,
    workdir: workspace,
    program,
  };
  const known = loop.notes;
  await driveOnce(loop, turns, null);
  if (turns.prompt === null) throw new UserError(loop.end().reason);
  // Another process may have started one meanwhile; a loop without a state would never end.
  await cancelSession(session, stateDir);
  // What is there now cannot be read.
  clearState(session, stateDir);
  if (!writeState(session, state, stateDir)) {
    await endLoop(loop.spec.id, session);
    throw unwritableState(stateDir);
  }
  return {
    state,
    prompt: turns.prompt,
    context: modeBlock(policy, promise),
    checks: policy.checks.commands.map(({ command }) => command),
    notes: known,
  };
}

/** What the agent has to know beside its first prompt: that it is in a loop, and how it ends (S5.58). */
function modeBlock(policy: Policy, promise: string): string {
  const checks = policy.checks.commands.map(({ command }) => command);
  return [
    `<ralph-loop-mode iteration="1" max="${policy.limits.iterations ?? 'unlimited'}">`,
    'This session is in a Ralph loop: whenever you stop, you are asked to continue, until the task is complete.',
    `When the task is FULLY complete, and not before, output: <promise>${promise}</promise>`,
    ...(checks.length === 0
      ? []
      : [
          'Your promise is accepted only if these checks pass; Ralph runs them:',
          ...checks.map((one) => `- ${one}`),
        ]),
    '</ralph-loop-mode>',
  ].join('\n');
}

/** Removes what is left of sessions whose loop has ended or was removed, and whose host program never came back. */
function forgetEnded(stateDir: string | undefined): void {
  for (const { sessionId, loop } of allStates(stateDir)) {
    if (loop === undefined) continue;
    const found = folderWith(loop, sessionId) === null ? null : readLoopOf(loop);
    if (found === null || found.state.outcome !== null) clearState(sessionId, stateDir);
  }
}

/** How a host program follows a step. */
export interface StepOptions {
  /** What the session had when its turn ended; if it has changed, another process has taken this step. */
  readonly state?: RalphLoopState;
  /** Called when the turn belongs to a run, before the checks: whatever happens then, it must not be given again. */
  readonly taken?: () => void;
  /** Called once if checks run, with their commands. */
  readonly checking?: ((checks: readonly string[]) => void) | undefined;
}

/** A turn of the session has ended: what happens next. */
export async function endTurn(
  session: string,
  turn: FinishedTurn,
  stateDir?: string,
  options: StepOptions = {},
): Promise<Answer> {
  const state = options.state ?? readState(session, stateDir);
  if (state === null) refuseDamagedState(session, stateDir);
  if (state === null || !state.active || state.loop === undefined) return NONE;
  const folder = folderWith(state.loop, session);
  if (folder === null) return lost(state, state.loop, stateDir);
  if (!existsSync(folder.workspace)) throw goneWorkspace(folder.workspace);
  const turns = new Turns(turn, options.taken);
  const loop = await takeTurn(folder, turns);
  if (loop === null) return NONE;
  if (stepOf(readState(session, stateDir)) !== stepOf(state)) {
    loop.close();
    return NONE;
  }
  if (loop.state.outcome !== null) {
    loop.close();
    clearState(session, stateDir);
    return ended(withLimit(state, loop.state), loop.end());
  }
  // The session works again, so a wait for the provider is over.
  if (openRun(loop.state) === null && !loop.state.control.paused && turn.error === undefined)
    loop.receive({ type: 'resume', now: true });
  const failedBefore = loop.end().rejectedClaims;
  const stop = await driveOnce(loop, turns, turn, options.checking);
  const record = loop.end();
  const limited = withLimit(state, loop.state);
  if (stop.why === 'ended') {
    clearState(session, stateDir);
    return ended(limited, record);
  }
  // Cancelled or replaced meanwhile: the process that did so ends the loop.
  if (readState(session, stateDir)?.loop !== state.loop) return NONE;
  const now: RalphLoopState = {
    ...limited,
    iteration: loop.state.turn.iteration,
    lastIterationAt: new Date().toISOString(),
  };
  if (!writeState(session, now, stateDir)) throw unwritableState(stateDir);
  if (turns.prompt === null) return waiting(now, loop.state, record.name, Date.now());
  const rejected = record.rejectedClaims > failedBefore ? record.failingChecks : [];
  return continued(now, turns.prompt, rejected);
}

/** Throws if the session has a loop whose state cannot be read. */
export function refuseDamagedState(session: string, stateDir?: string): void {
  const trouble = damagedState(session, stateDir);
  if (trouble !== null) throw new UserError(trouble);
}

/** A person may have changed the limit (`ralph set`). */
function withLimit(state: RalphLoopState, { policy }: LoopState): RalphLoopState {
  return { ...state, maxIterations: policy.limits.iterations ?? Number.MAX_SAFE_INTEGER };
}

/**
 * What has ended the loop of a session since its last step, such as `ralph stop` in a terminal; `none` if nothing has. Asked
 * before the session gets a prompt that had to wait.
 */
export function endedMeanwhile(session: string, stateDir?: string): Answer {
  const state = readState(session, stateDir);
  if (state === null || state.loop === undefined) return NONE;
  const found = folderWith(state.loop, session) === null ? null : readLoopOf(state.loop);
  if (found === null) return lost(state, state.loop, stateDir);
  if (found.trouble !== null) throw new UserError(found.trouble);
  if (found.state.outcome !== null) {
    clearState(session, stateDir);
    return ended(withLimit(state, found.state), endRecord(found.state, found.report, found.spec));
  }
  const isStopping =
    found.state.control.stop !== null ||
    queuedControls(found.folder.inbox).some((control) => control.type === 'stop');
  return isStopping ? stopping(state) : NONE;
}

/** The answer for a session whose loop is not there any more; throws if it is there and cannot be read. */
function lost(state: RalphLoopState, loop: string, stateDir: string | undefined): Answer {
  const path = join(loopsFolder(), loop);
  const spec = fits(loopId, loop) ? specIn(path) : null;
  if (spec === null && fits(loopId, loop) && existsSync(path))
    throw new UserError(
      `cannot continue the loop of this session: ${visible(join(path, 'spec.json'))} is missing or damaged; cancel-ralph ends the loop`,
    );
  clearState(state.sessionId, stateDir);
  // It was never the loop of this session.
  return spec !== null && spec.session !== state.sessionId ? NONE : removed(state, loop);
}

/** What every step changes. */
function stepOf(state: RalphLoopState | null): string {
  return JSON.stringify([state?.loop, state?.iteration, state?.lastIterationAt]);
}

/** Ends the loop of a session, or only the given one; null if it has none. */
export async function cancelSession(
  session: string,
  stateDir?: string,
  only?: string,
): Promise<RalphLoopState | null> {
  const state = readState(session, stateDir);
  const isCurrent = state !== null && (only === undefined || state.loop === only);
  const isDamaged = state === null && only === undefined && damagedState(session, stateDir) !== null;
  if (isCurrent || isDamaged) clearState(session, stateDir);
  const loop = only ?? state?.loop;
  if (loop !== undefined) await endLoop(loop, session);
  return isCurrent ? state : null;
}

/** Ends a loop of the session, also if another process takes its step now. */
async function endLoop(id: string, session: string): Promise<void> {
  const loop = folderWith(id, session);
  // Without its folder a loop cannot end; without a session it never continues either.
  if (loop === null || !existsSync(loop.workspace)) return;
  const loops = await hall();
  const stop = (): Promise<Sent> => loops.send(loop, { type: 'stop', now: true, by: 'person' });
  const sent = await stop().catch((error: unknown) => {
    // Another process has just taken the lock, and gets the request.
    if (error instanceof AlreadyOwned) return stop();
    throw error;
  });
  if (sent.is !== 'taken') return;
  const rest = await loops.wait(loop, { signal: AbortSignal.timeout(STEP_MS) });
  // The process that has taken it was just about to leave.
  if (rest.is === 'driven') await stop();
}

/** A program may give its hook no more than 3 seconds to cancel. */
const STEP_MS = 2000;

/** The loops of this machine, for the person of the session. Loaded late: a turn does not need them. */
async function hall(): Promise<Loops> {
  const [{ localLoops }, { Rights }] = await Promise.all([
    import('../loops/local-loops.ts'),
    import('../loops/rights.ts'),
  ]);
  return localLoops({ rights: new Rights(() => ({ is: 'person' })) });
}

function goneWorkspace(workspace: string): UserError {
  return new UserError(
    `the folder of this loop is gone: ${visible(workspace)}; if it was moved, run there: ralph move ${visible(workspace)}; else cancel the loop`,
  );
}

function unwritableState(stateDir: string | undefined): UserError {
  return new UserError(`cannot write the state of the session in ${sessionsFolder(stateDir)}`, 3);
}

export interface SessionStatus {
  readonly state: RalphLoopState;
  /** For people. */
  readonly lines: readonly string[];
}

/** Where the loop of a session stands; null if it has none. */
export async function sessionStatus(session: string, stateDir?: string): Promise<SessionStatus | null> {
  const state = readState(session, stateDir);
  const loop = state?.loop === undefined ? null : folderWith(state.loop, session);
  if (state === null || loop === null) return null;
  const view = await (await hall()).get(loop);
  return { state, lines: statusLines(state, view.state, view.summary) };
}

const NONE: Answer = { type: 'none' };

/** The loop with an id; null if it is no loop of the session, if it was removed, or if another loop has its name now. */
function folderWith(id: string, session: string): LoopFolder | null {
  const spec = fits(loopId, id) ? specIn(join(loopsFolder(), id)) : null;
  if (spec === null || !isInSession(spec) || spec.session !== session) return null;
  const folder = findFolder(spec.workspace, spec.name);
  return folder?.id === id ? folder : null;
}
