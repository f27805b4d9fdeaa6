/**
 * The hook of document 004: a session gets a new prompt whenever it goes idle, until it keeps its promise.
 *
 * 1. Nothing is decided here. Done, limits, checks and the next prompt come from a step of the driver, that is, from the core.
 * 2. Sessions never touch each other: a session has its own state, its own memory and its own order of work.
 * 3. The methods of `RalphLoopHook` answer at once and change the state file at once; the loop itself follows in the
 *    background, and an idle session waits for it. A state without a loop gets one at the next idle event.
 * 4. Before an injection the state is looked at again: a cancel, an abort, a deletion or a new start drops it.
 */
import { realPath } from '../../files/files.ts';
import { resolve } from 'node:path';
import type { Answer } from '../answer.ts';
import { CONSOLE_LOG, errorText } from '../log.ts';
import { damagedState, isSessionId } from '../session-file.ts';
import type { TurnError } from '../turn.ts';
import {
  announceAnswer,
  announceCancel,
  announceChecks,
  announceFailedStep,
  announcer,
  harmless,
  toastCancelled,
  type Announcer,
} from './announce.ts';
import { CHECKS_NOTE_DELAY, DEFAULT_CONFIG, HOOK_NAME, RECOVERY_TIME } from './constants.ts';
import { inProcessDriver, type SessionDriver } from './driver.ts';
import { isAbort, sessionIn, usageLimitIn } from './events.ts';
import type { LiveSession } from './live-session.ts';
import { MessageSource } from './messages.ts';
import { SessionLoops } from './session-loops.ts';
import { SYSTEM_TIMERS, type Timers } from './timers.ts';
import type {
  Hook,
  HookContext,
  RalphLoopConfig,
  RalphLoopHook,
  RalphLoopOptions,
  StartLoopOptions,
} from './types.ts';

export function createRalphLoopHook(options: RalphLoopOptions = {}): Hook & RalphLoopHook {
  const config = configOf(options.config);
  return createHookWith(inProcessDriver(options.program ?? HOOK_PROGRAM, config.stateDir), options);
}

/** The same hook, with steps that another process may take. */
export function createHookWith(
  driver: SessionDriver,
  options: RalphLoopOptions = {},
  timers: Timers = SYSTEM_TIMERS,
): Hook & RalphLoopHook & ContinuingHook {
  const config = configOf(options.config);
  const { showToast = () => {}, showNote, program } = options;
  const log = harmless(options.log ?? CONSOLE_LOG);
  const tell = announcer(log, showToast, showNote);
  const messages = new MessageSource(options, tell, timers);
  const loops = new SessionLoops({
    driver,
    config,
    workdir: realPath(options.workdir ?? process.cwd()),
    program: program ?? HOOK_PROGRAM,
    isAlone: program !== undefined || config.stateDir !== undefined,
    strict: options.strict === true,
    markdownState: options.markdownState === true,
    messages,
    timers,
    log,
    tell,
  });
  const steps = new Steps({ driver, config, loops, messages, tell, timers, options });
  return {
    name: HOOK_NAME,
    description: 'Agentic iteration loop for autonomous task completion',
    // Below recovery hooks.
    priority: 50,
    events: ['session.idle', 'session.error', 'session.deleted'],
    handler: (context) => steps.handle(context),
    startLoop: (sessionId: string, prompt: string, loopOptions: StartLoopOptions = {}) =>
      config.enabled && loops.start(sessionId, prompt, loopOptions),
    cancelLoop(sessionId) {
      const end = loops.end(sessionId);
      if (end?.cleared === true) announceCancel(tell, end.state);
      return end?.cleared === true;
    },
    getState: (sessionId) =>
      sessionId === undefined ? (loops.states()[0] ?? null) : loops.current(sessionId),
    isLoopActive: (sessionId) => loops.current(sessionId)?.active === true,
    loopStarted: (sessionId) => loops.first(sessionId),
    isContinuing: (sessionId) => loops.remembered(sessionId)?.isContinuing === true,
    settled: () => loops.settled(),
    dispose: () => loops.dispose(),
  };
}

/** For host programs that do not say that an idle session was aborted. */
export interface ContinuingHook {
  /** Whether a session is idle only until its checks have ended, or its next prompt has waited for its delay. */
  isContinuing(sessionId: string): boolean;
}

/** The host program of a hook that does not say which one it is in. */
const HOOK_PROGRAM = 'hook';

interface StepsOptions {
  readonly driver: SessionDriver;
  readonly config: RalphLoopConfig;
  readonly loops: SessionLoops;
  readonly messages: MessageSource;
  readonly tell: Announcer;
  readonly timers: Timers;
  readonly options: Pick<RalphLoopOptions, 'injectPrompt' | 'checkSessionExists'>;
}

class Steps {
  readonly #on: StepsOptions;

  constructor(on: StepsOptions) {
    this.#on = on;
  }

  async handle({ event, sessionId, data }: HookContext): Promise<void> {
    if (!this.#on.config.enabled) return;
    if (event === 'session.deleted') {
      const deleted = sessionIn(data) ?? sessionId;
      if (isSessionId(deleted)) await this.#forget(deleted, 'Session deleted, loop cleared');
      return;
    }
    // Some host programs report errors that belong to no session.
    if (!isSessionId(sessionId)) return;
    if (event === 'session.error') await this.#failed(sessionId, data);
    if (event === 'session.idle') await this.#idle(sessionId);
  }

  async #forget(sessionId: string, why: string): Promise<void> {
    const { loops, tell } = this.#on;
    const live = loops.remembered(sessionId);
    if (live !== undefined) {
      live.isForgotten = true;
      live.forgetRecovery();
    }
    const end = loops.end(sessionId);
    if (end === null) {
      loops.forget(sessionId);
      return;
    }
    if (end.cleared) tell.info(why, { sessionId });
    await end.done;
  }

  async #failed(sessionId: string, data: unknown): Promise<void> {
    const { loops, tell } = this.#on;
    if (isAbort(data)) {
      const aborted = loops.current(sessionId);
      // Otherwise a person could not see that Esc ends the loop, too.
      if (aborted?.active === true) toastCancelled(tell, aborted);
      return this.#forget(sessionId, 'User aborted, loop cleared');
    }
    loops.live(sessionId).recoverFor(RECOVERY_TIME);
    // A usage limit has to be known to the loop: it says how long to wait.
    const limit = usageLimitIn(data, Date.now());
    if (limit !== null && loops.current(sessionId)?.active === true) await this.#step(sessionId, limit);
  }

  async #idle(sessionId: string): Promise<void> {
    const { loops, tell, config } = this.#on;
    if (loops.remembered(sessionId)?.isRecovering === true) {
      tell.info('Skipped: in recovery', { sessionId });
      return;
    }
    const state = loops.current(sessionId);
    if (state === null) {
      const damaged = damagedState(sessionId, config.stateDir);
      if (damaged !== null) tell.note(sessionId, `Ralph loop: not continued: ${damaged}`);
      await this.#clearOrphans(sessionId);
    } else if (state.active) await this.#step(sessionId, undefined);
  }

  /** One step at a time, and none while its injection is pending. */
  async #step(sessionId: string, error: TurnError | undefined): Promise<void> {
    const live = this.#on.loops.live(sessionId);
    if (live.isStepping || live.isInjecting) return;
    live.isStepping = true;
    const { generation } = live;
    try {
      await live.do(() => this.#endTurn(live, generation, sessionId, error));
    } catch (failure) {
      announceFailedStep(this.#on.tell, sessionId, errorText(failure));
    } finally {
      live.isStepping = false;
    }
  }

  async #endTurn(
    live: LiveSession,
    generation: number,
    sessionId: string,
    error: TurnError | undefined,
  ): Promise<void> {
    const { driver, loops, messages, tell, config, timers } = this.#on;
    const known = live.generation === generation ? loops.current(sessionId) : null;
    const state = known?.active === true ? await loops.withLoop(live, known) : null;
    if (state === null || live.generation !== generation) return;
    const { turn, seen } = await messages.lastTurn(sessionId, state.seenMessages);
    if (live.generation !== generation) return;
    let endNote: (() => void) | null = null;
    const checking = (checks: readonly string[]): void => {
      endNote = timers.after(CHECKS_NOTE_DELAY, () => {
        if (live.generation === generation) announceChecks(tell, sessionId, checks);
      });
    };
    const ended = error === undefined ? turn : { ...turn, error };
    const answer = await driver.endTurn(sessionId, ended, checking).finally(() => endNote?.());
    if (live.generation !== generation || answer.type === 'none') return;
    if (answer.type === 'ended') loops.ended(sessionId);
    else loops.keepSeen(sessionId, seen);
    announceAnswer(tell, answer);
    if (answer.type !== 'continue') return;
    live.injectAfter(config.continuationDelay, () => {
      void this.#inject(live, generation, answer);
    });
  }

  /** Whatever ends the loop meanwhile, in this program or elsewhere, ends the injection. */
  async #inject(
    live: LiveSession,
    generation: number,
    { prompt, state: { sessionId, loop } }: Extract<Answer, { type: 'continue' }>,
  ): Promise<void> {
    const { loops, tell, options } = this.#on;
    const isDropped = (): boolean => {
      const state = loops.current(sessionId);
      return live.generation !== generation || state?.active !== true || state.loop !== loop;
    };
    if (isDropped()) return;
    try {
      const looked = this.#look(live, sessionId);
      const answer = looked instanceof Promise ? await looked : looked;
      if (live.generation !== generation) return;
      if (answer.type === 'ended') loops.ended(sessionId);
      if (answer.type !== 'none') announceAnswer(tell, answer);
      else if (!isDropped()) await options.injectPrompt?.(sessionId, prompt);
    } catch (error) {
      tell.error('Failed to inject continuation', { sessionId, error: String(error) });
      tell.note(sessionId, `Ralph loop: could not continue the session: ${errorText(error)}`);
    }
  }

  /** Asks what has ended the loop meanwhile; no step begins before the answer. */
  #look(live: LiveSession, sessionId: string): Answer | Promise<Answer> {
    const looked = this.#on.driver.look(sessionId);
    if (!(looked instanceof Promise)) return looked;
    live.isStepping = true;
    return looked.finally(() => {
      live.isStepping = false;
    });
  }

  /** Ends the loops of sessions that are gone. */
  async #clearOrphans(sessionId: string): Promise<void> {
    const { loops, tell, options } = this.#on;
    const { checkSessionExists } = options;
    if (checkSessionExists === undefined) return;
    const others = loops.ownStates().filter((state) => state.sessionId !== sessionId);
    await Promise.all(
      others.map(async ({ sessionId: other }) => {
        try {
          if (await checkSessionExists(other)) return;
        } catch {
          // It may exist.
          return;
        }
        const end = loops.end(other);
        if (end?.cleared === true)
          tell.info('Cleared orphaned state', { orphanedSessionId: other, currentSessionId: sessionId });
        await end?.done;
      }),
    );
  }
}

function configOf(given: RalphLoopOptions['config'] = {}): RalphLoopConfig {
  const defined = Object.entries(given).filter(([, value]) => value !== undefined);
  const config: RalphLoopConfig = { ...DEFAULT_CONFIG, ...Object.fromEntries(defined) };
  return config.stateDir === undefined ? config : { ...config, stateDir: resolve(config.stateDir) };
}
