/** The types of document 004, and what was added to them. */
import type { RalphLog } from '../log.ts';
import type { RalphLoopState } from '../session-file.ts';
import type { TurnTokens } from '../turn.ts';

export interface RalphLoopConfig {
  /** Without it, no loop starts and no event is handled. */
  readonly enabled: boolean;
  readonly defaultMaxIterations: number;
  readonly defaultCompletionPromise: string;
  /** Milliseconds before a continuation is injected. */
  readonly continuationDelay: number;
  /** A folder for the states of the sessions; by default they are in the state folder of Ralph. */
  readonly stateDir?: string;
}

export interface StartLoopOptions {
  readonly maxIterations?: number | undefined;
  readonly completionPromise?: string | undefined;
  readonly description?: string | undefined;
  /** Commands that must pass before a promise is accepted, in place of those of the trusted settings. */
  readonly checks?: readonly string[] | undefined;
  /** Limits of the whole loop, as for `--max-time` (`2h`), `--max-cost` (dollars) and `--max-tokens`. */
  readonly maxTime?: string | undefined;
  readonly maxCost?: number | undefined;
  readonly maxTokens?: number | undefined;
}

export interface RalphLoopHook {
  /** Whether the state was written. The loop itself is created in the background; see `loopStarted`. */
  startLoop(sessionId: string, prompt: string, options?: StartLoopOptions): boolean;
  cancelLoop(sessionId: string): boolean;
  /** The state of a session; without an id, of the latest loop that was started in `workdir`. */
  getState(sessionId?: string): RalphLoopState | null;
  isLoopActive(sessionId: string): boolean;
  /** What the session should be told first, once its loop is created; null if it has none or it cannot be created. */
  loopStarted(sessionId: string): Promise<FirstMessage | null>;
  /** Resolves when nothing happens in the background any more. A pending injection is not waited for. */
  settled(): Promise<void>;
  /** Drops every pending injection. The loops stay as they are, and another hook continues them. */
  dispose(): void;
}

export interface FirstMessage {
  /** The task. */
  readonly prompt: string;
  /** `<ralph-loop-mode …>`: that the session is in a loop, and how it ends. */
  readonly context: string;
  /** What the person should know, such as settings that do not apply to a session. */
  readonly notes: readonly string[];
}

/** A hook of a host program. */
export interface Hook {
  readonly name: string;
  readonly description: string;
  /** Hooks with a higher one are called first. */
  readonly priority: number;
  readonly events: readonly string[];
  handler(context: HookContext): Promise<HookResult | void>;
}

export interface HookContext {
  /** `session.idle`, `session.error` or `session.deleted`; others are ignored. */
  readonly event: string;
  readonly sessionId: string;
  /**
   * `{ error: { name, message, limit? } }` of an error, where `limit: { resetsAt }` names a usage limit of the provider, and
   * `{ sessionId }` of a session that was deleted.
   */
  readonly data?: unknown;
}

export type HookResult = Readonly<Record<string, unknown>>;

export interface HookMessage {
  /** `assistant`, `reasoning`, `tool`, or anything else, which never completes a loop. */
  readonly role?: string;
  readonly content?: string;
  /** What the message cost, if the host program knows it; for limits on tokens and cost. */
  readonly tokens?: TurnTokens;
  readonly costUsd?: number;
  readonly model?: string;
}

export interface Toast {
  readonly title: string;
  readonly message: string;
  /** `info`, `success`, `warning` or `error`. */
  readonly variant: string;
  readonly duration?: number;
}

export interface RalphLoopOptions {
  readonly config?: { readonly [K in keyof RalphLoopConfig]?: RalphLoopConfig[K] | undefined } | undefined;
  /** The folder in which the agent works (default: the current folder). */
  readonly workdir?: string | undefined;
  /** All messages of a session so far, the oldest first, in a list that does not grow later. */
  readonly getMessages?: ((sessionId: string) => Promise<readonly HookMessage[]>) | undefined;
  /** Appends a user message and triggers the model. */
  readonly injectPrompt?: ((sessionId: string, prompt: string) => Promise<void>) | undefined;
  readonly showToast?: ((toast: Toast) => void) | undefined;
  /** Shows a line in the session that stays, to the person only: that checks run, why the loop rests or how it has ended. */
  readonly showNote?: ((sessionId: string, text: string) => void) | undefined;
  readonly checkSessionExists?: ((sessionId: string) => Promise<boolean>) | undefined;
  /** A file of JSON lines with the messages of a session; it is read before `getMessages` is called. */
  readonly getTranscriptPath?: ((sessionId: string) => string | undefined) | undefined;
  /** By default warnings and errors go to the console. */
  readonly log?: RalphLog | undefined;
  /** A promise counts only on the last line of an answer, outside of code and quotation. */
  readonly strict?: boolean | undefined;
  /** Also shows the state as Markdown in `<workdir>/.supercode/ralph-loop.local.md`. */
  readonly markdownState?: boolean | undefined;
  /** A short name of the host program, which no other program uses. */
  readonly program?: string | undefined;
}
