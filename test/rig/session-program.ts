/** A program with sessions, as far as a hook can tell: it keeps messages, and writes down what it is told. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { createHookWith } from '../../src/session/hook/hook.ts';
import { inProcessDriver } from '../../src/session/hook/driver.ts';
import type { Timers } from '../../src/session/hook/timers.ts';
import { removeLoop } from '../../src/loops/remove.ts';
import { takeOver } from '../../src/owner/take-over.ts';
import { readLoopOf, type LoopReading } from '../../src/home/read-loop.ts';
import type {
  Hook,
  HookMessage,
  RalphLoopHook,
  RalphLoopOptions,
  Toast,
} from '../../src/session/hook/types.ts';
import type { LogDetails, RalphLog } from '../../src/session/log.ts';
import type { RalphLoopState } from '../../src/session/session-file.ts';

/** How a loop has ended; undefined while it has not. */
export function outcomeOf(loop: string | undefined): string | undefined {
  return readLoopOf(loop ?? '')?.state.outcome?.type;
}

/** What `ralph stop` does in a terminal. */
export async function stopLoopOf(state: RalphLoopState | null): Promise<void> {
  const { folder, spec } = loopOf(state);
  const owned = await takeOver(folder.workspace, spec.name, { by: 'person', env: {} });
  owned.receive({ type: 'stop', now: true, by: 'person' });
  await owned.drive();
}

/** What `ralph rm` does in a terminal. */
export async function removeLoopOf(state: RalphLoopState | null): Promise<void> {
  await removeLoop(loopOf(state));
}

function loopOf(state: RalphLoopState | null): LoopReading {
  const loop = readLoopOf(state?.loop ?? '');
  if (loop === null) throw new Error('the session has no loop');
  return loop;
}

export const PROMISE = '<promise>DONE</promise>';
const NAME = '[ralph-loop] ';

export class SessionProgram {
  readonly root: string = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-hook-')));
  readonly workdir: string = join(this.root, 'work');
  readonly time: ManualTimers = new ManualTimers();
  readonly toasts: Toast[] = [];
  /** `info Loop started`, without the name of the hook. */
  readonly lines: string[] = [];
  /** What each of the lines comes with. */
  readonly details: (LogDetails | undefined)[] = [];
  readonly prompts: { readonly session: string; readonly prompt: string }[] = [];
  readonly #messages = new Map<string, HookMessage[]>();
  readonly #hooks: RalphLoopHook[] = [];

  constructor() {
    mkdirSync(this.workdir);
    vi.stubEnv('RALPH_STATE', join(this.root, 'state'));
  }

  /** The state file of a session. */
  stateFile(session: string): string {
    return join(this.root, 'state', 'sessions', session, 'ralph-loop-state.json');
  }

  readonly log: RalphLog = {
    info: (line, details) => this.#write('info', line, details),
    warn: (line, details) => this.#write('warn', line, details),
    error: (line, details) => this.#write('error', line, details),
  };

  #write(level: string, line: string, details: LogDetails | undefined): void {
    // Not thrown: a hook survives a log that fails.
    const known = line.startsWith(NAME) ? line.slice(NAME.length) : `without the name of the hook: ${line}`;
    this.lines.push(`${level} ${known}`);
    this.details.push(details);
  }

  hook(options: RalphLoopOptions = {}): Hook & RalphLoopHook {
    const driver = inProcessDriver(options.program ?? 'hook', options.config?.stateDir);
    const own: RalphLoopOptions = {
      workdir: this.workdir,
      getMessages: async (session) => [...(this.#messages.get(session) ?? [])],
      injectPrompt: async (session, prompt) => {
        this.prompts.push({ session, prompt });
        this.hears(session, 'user', prompt);
      },
      showToast: (toast) => void this.toasts.push(toast),
      log: this.log,
      ...options,
    };
    const hook = createHookWith(driver, own, this.time);
    this.#hooks.push(hook);
    return hook;
  }

  /** Adds a message to a session. */
  hears(session: string, role: string, content: string): void {
    const all = this.#messages.get(session) ?? [];
    this.#messages.set(session, [...all, { role, content }]);
  }

  /** The agent says something, and the session goes idle. */
  async turn(hook: Hook, session: string, ...texts: readonly string[]): Promise<void> {
    for (const text of texts) this.hears(session, 'assistant', text);
    await hook.handler({ event: 'session.idle', sessionId: session });
  }

  lastToast(): Toast | undefined {
    return this.toasts.at(-1);
  }

  async close(): Promise<void> {
    for (const hook of this.#hooks) hook.dispose();
    await Promise.all(this.#hooks.map((hook) => hook.settled()));
    vi.useRealTimers();
    vi.unstubAllEnvs();
    rmSync(this.root, { recursive: true, force: true });
  }
}

/** Time that passes only when a test says so. */
export class ManualTimers implements Timers {
  #now = 0;
  readonly #calls = new Set<{ readonly at: number; readonly call: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): () => void {
    const entry = { at: this.#now + ms, call };
    this.#calls.add(entry);
    return () => void this.#calls.delete(entry);
  }

  /** How many calls are still to come. */
  get pending(): number {
    return this.#calls.size;
  }

  pass(ms: number): void {
    this.#now += ms;
    for (const entry of this.#calls) {
      if (entry.at > this.#now) continue;
      this.#calls.delete(entry);
      entry.call();
    }
  }
}
