/**
 * The loops of a hook's sessions: starting, ending and finding them.
 *
 * 1. The state file is changed before a method returns; the loop follows in the background, in order.
 * 2. What a person has just asked for counts over the file until the background has done it.
 * 3. A loop that was replaced or cancelled is ended under its own id, whatever the file says by then.
 */
import type { RalphArguments } from '../arguments.ts';
import { errorText, type RalphLog } from '../log.ts';
import {
  allStates,
  clearState,
  damagedState,
  isSessionId,
  readState,
  writeState,
  type RalphLoopState,
} from '../session-file.ts';
import type { StartedSession } from '../session.ts';
import { announceFailedStart, announceStart, type Announcer } from './announce.ts';
import type { SessionDriver } from './driver.ts';
import { LiveSession } from './live-session.ts';
import { clearMarkdownState, writeMarkdownState } from './markdown-state.ts';
import type { MessageSource } from './messages.ts';
import type { Timers } from './timers.ts';
import type { FirstMessage, RalphLoopConfig, StartLoopOptions } from './types.ts';

export interface LoopsOptions {
  readonly driver: SessionDriver;
  readonly config: RalphLoopConfig;
  readonly workdir: string;
  readonly program: string;
  /** No other program has sessions in the same folder of states under this name. */
  readonly isAlone: boolean;
  readonly strict: boolean;
  readonly markdownState: boolean;
  readonly messages: MessageSource;
  readonly timers: Timers;
  readonly log: RalphLog;
  readonly tell: Announcer;
}

export class SessionLoops {
  readonly #options: LoopsOptions;
  readonly #live = new Map<string, LiveSession>();

  constructor(options: LoopsOptions) {
    this.#options = options;
  }

  /** Writes the state of a new loop and creates it in the background. */
  start(session: string, prompt: string, options: StartLoopOptions): boolean {
    const { config, tell, workdir, program, strict } = this.#options;
    const { maxIterations = config.defaultMaxIterations, description } = options;
    const { completionPromise = config.defaultCompletionPromise } = options;
    const problem = problemOf(session, prompt, maxIterations, completionPromise);
    if (problem !== null) {
      announceFailedStart(tell, session, problem);
      return false;
    }
    const before = this.current(session);
    const replaced = before?.loop ?? before?.replaces;
    const state: RalphLoopState = {
      active: true,
      iteration: 1,
      maxIterations,
      completionPromise,
      startedAt: new Date().toISOString(),
      prompt,
      sessionId: session,
      ...(description === undefined ? {} : { description }),
      workdir,
      program,
      ...(replaced === undefined ? {} : { replaces: replaced }),
      asked: argumentsOf(prompt, { ...options, maxIterations, completionPromise }, strict),
    };
    if (!this.#write(state)) return false;
    const live = this.live(session);
    const generation = live.supersede();
    live.isForgotten = false;
    live.wanted = state;
    // Asked now: what the session says from here on belongs to the loop.
    const seen = this.#options.messages.count(session);
    live.first = live.do(() => this.#create(live, generation, state, seen));
    return true;
  }

  /** Clears the state of a session and ends its loop in the background; null if it has none. */
  end(
    session: string,
  ): { readonly state: RalphLoopState; readonly cleared: boolean; readonly done: Promise<void> } | null {
    const state = this.current(session);
    const { driver, tell, config, log } = this.#options;
    if (state === null) {
      if (isSessionId(session) && damagedState(session, config.stateDir) !== null)
        clearState(session, config.stateDir, log);
      return null;
    }
    const live = this.live(session);
    const generation = live.supersede();
    live.wanted = null;
    live.first = null;
    const cleared = clearState(session, config.stateDir, log);
    this.#showMarkdown(session, null);
    const cancel = async (loop: string | undefined): Promise<void> => {
      try {
        if (loop !== undefined) await driver.cancel(session, loop);
      } catch (error) {
        tell.error('Failed to end loop', { sessionId: session, loop, error: errorText(error) });
        tell.note(session, `Ralph loop: could not be ended: ${errorText(error)}`);
      }
    };
    // A step may run checks for minutes: it is told now, not after them.
    const told = live.isStepping ? cancel(state.loop) : null;
    const done = live.do(async () => {
      await told;
      for (const loop of new Set([state.loop, state.replaces, live.created])) {
        // oxlint-disable-next-line no-await-in-loop -- in order, and seldom more than one
        await cancel(loop);
      }
      live.created = undefined;
      this.#arrived(live, generation);
      if (live.isForgotten && live.generation === generation) this.forget(session);
    });
    return { state, cleared, done };
  }

  /** The state of a session as it is, or as it is going to be. */
  current(session: string): RalphLoopState | null {
    const wanted = this.#live.get(session)?.wanted;
    if (wanted !== undefined) return wanted;
    if (!isSessionId(session)) return null;
    return readState(session, this.#options.config.stateDir, this.#options.log);
  }

  /** The states of the sessions that work in this folder, the latest start first. */
  states(): readonly RalphLoopState[] {
    const { config, log, workdir } = this.#options;
    return allStates(config.stateDir, log)
      .flatMap(({ sessionId }) => this.current(sessionId) ?? [])
      .filter((state) => state.workdir === workdir);
  }

  /** Those of them that are sessions of this program, which can tell whether they exist. */
  ownStates(): readonly RalphLoopState[] {
    const { program, isAlone } = this.#options;
    return this.states().filter(
      (state) => state.program === program && (isAlone || this.#live.has(state.sessionId)),
    );
  }

  /** What the session should be told first; null if its loop was not started here or cannot be created. */
  async first(session: string): Promise<FirstMessage | null> {
    return (await this.#live.get(session)?.first) ?? null;
  }

  /** The memory of a session. */
  live(session: string): LiveSession {
    const live = this.#live.get(session) ?? new LiveSession(this.#options.timers);
    this.#live.set(session, live);
    return live;
  }

  forget(session: string): void {
    this.#live.delete(session);
  }

  remembered(session: string): LiveSession | undefined {
    return this.#live.get(session);
  }

  /** Creates the loop of a state that has none yet: this program, or an earlier one, ended before it was created. */
  async withLoop(live: LiveSession, state: RalphLoopState): Promise<RalphLoopState | null> {
    if (state.loop !== undefined) return state;
    await this.#create(live, live.generation, state, Promise.resolve(state.seenMessages));
    return this.current(state.sessionId);
  }

  /** Keeps how many messages there were. */
  keepSeen(session: string, seen: number | undefined): void {
    const state = this.current(session);
    if (state === null) return;
    if (seen !== undefined && state.seenMessages !== seen) this.#write({ ...state, seenMessages: seen });
    else this.#showMarkdown(session, state);
  }

  /** The loop has ended by itself. */
  ended(session: string): void {
    const { config, log } = this.#options;
    clearState(session, config.stateDir, log);
    this.#showMarkdown(session, null);
    this.live(session).created = undefined;
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#live.values()].map((live) => live.settled()));
  }

  dispose(): void {
    for (const live of this.#live.values()) live.cancelInjection();
  }

  async #create(
    live: LiveSession,
    generation: number,
    state: RalphLoopState,
    counting: Promise<number | undefined>,
  ): Promise<StartedSession | null> {
    const { driver, tell, workdir, config, log } = this.#options;
    const { sessionId: session, description } = state;
    try {
      for (const loop of new Set([state.replaces, live.created])) {
        // oxlint-disable-next-line no-await-in-loop -- in order, and seldom more than one
        if (loop !== undefined) await driver.cancel(session, loop);
      }
      live.created = undefined;
      const seen = await counting;
      // Cancelled, or replaced, before it began.
      if (live.generation !== generation) return null;
      const started = await driver.start({
        session,
        workspace: state.workdir ?? workdir,
        asked: state.asked ?? argumentsOf(state.prompt, state, this.#options.strict),
        description,
      });
      live.created = started.state.loop;
      for (const note of started.notes) tell.info(note, { sessionId: session });
      if (live.generation !== generation) return null;
      this.#write({ ...started.state, ...(seen === undefined ? {} : { seenMessages: seen }) });
      this.#arrived(live, generation);
      announceStart(tell, started.state);
      return started;
    } catch (error) {
      if (live.generation !== generation) return null;
      clearState(session, config.stateDir, log);
      this.#showMarkdown(session, null);
      this.#arrived(live, generation);
      announceFailedStart(tell, session, errorText(error));
      return null;
    }
  }

  /** The file says again what is so. */
  #arrived(live: LiveSession, generation: number): void {
    if (live.generation === generation) live.wanted = undefined;
  }

  #write(state: RalphLoopState): boolean {
    const { config, log } = this.#options;
    const isWritten = writeState(state.sessionId, state, config.stateDir, log);
    if (isWritten) this.#showMarkdown(state.sessionId, state);
    return isWritten;
  }

  #showMarkdown(session: string, state: RalphLoopState | null): void {
    const { markdownState, workdir, tell } = this.#options;
    if (!markdownState) return;
    try {
      if (state === null) clearMarkdownState(workdir, session);
      else writeMarkdownState(workdir, state);
    } catch (error) {
      tell.warn('Failed to write the Markdown state', { sessionId: session, error: errorText(error) });
    }
  }
}

function argumentsOf(prompt: string, options: StartLoopOptions, strict: boolean): RalphArguments {
  const { maxIterations, completionPromise, checks = [], maxTime, maxCost, maxTokens } = options;
  return {
    prompt,
    checks,
    ...(maxIterations === undefined ? {} : { maxIterations }),
    ...(completionPromise === undefined ? {} : { completionPromise }),
    ...(maxTime === undefined ? {} : { maxTime }),
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(strict ? { strict } : {}),
  };
}

function problemOf(session: string, prompt: string, maxIterations: number, promise: string): string | null {
  if (!isSessionId(session)) return `invalid session id ${JSON.stringify(session)}`;
  if (prompt.trim() === '') return 'the prompt is required and must not be empty';
  if (!Number.isSafeInteger(maxIterations) || maxIterations < 1)
    return `maxIterations must be a whole number >= 1, got ${maxIterations}`;
  return promise.trim() === '' ? 'completionPromise must not be empty' : null;
}
