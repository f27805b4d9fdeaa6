/**
 * A run in a pane: the process behind its shim, and the terminal that it has.
 *
 * 1. It gets its prompt once it is ready, or after the time for that: pasted as it is, then Enter. The file `prompted` is
 *    created before, so that no owner pastes it a second time; it has what the terminal showed until then.
 * 2. A question in the terminal gets no prompt: its Enter would be an answer in the user's name.
 * 3. Keys, copy mode and clients of a person do not change what arrives, since nothing is typed.
 */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PRIVATE_FILE, readRegular, textOf } from '../files/files.ts';
import { capturePane, findPane, pasteInto, stopRecording, type Pane } from '../tmux/pane.ts';
import { TmuxError, type TmuxServer } from '../tmux/server.ts';
import type { WindowSpec } from '../tmux/windows.ts';
import type { HostedRun, Screen } from './host.ts';
import { ownText } from './own-text.ts';
import type { ProcessSpec } from './process.ts';

export class PaneRun implements HostedRun {
  readonly receipt: HostedRun['receipt'];
  readonly ended: HostedRun['ended'];
  readonly #process: HostedRun;
  readonly #spec: PaneSpec;
  readonly #left = new AbortController();
  readonly #prompting: Promise<void>;
  #hasPrompt = false;

  constructor(process: HostedRun, spec: PaneSpec) {
    this.#process = process;
    this.#spec = spec;
    this.receipt = process.receipt;
    this.ended = process.ended;
    void process.ended.then(() => this.#left.abort());
    this.#prompting = this.#prompt().catch((error: unknown) => {
      // From now on it is inactive if its terminal is still.
      this.#hasPrompt = true;
      if (error instanceof TmuxError) spec.say(`warning: the agent has not got its prompt: ${error.message}`);
      else throw error;
    });
  }

  get isOfEarlierBoot(): boolean {
    return this.#process.isOfEarlierBoot;
  }

  follow(take: Parameters<HostedRun['follow']>[0]): void {
    this.#process.follow(take);
  }

  async screen(): Promise<Screen | null> {
    if (!this.#hasPrompt) return null;
    const { folder, prompt } = this.#spec;
    const text = await this.#capture();
    return { text, own: ownText(text, textOf(join(folder, PROMPTED)) ?? '', textOf(prompt) ?? '') };
  }

  async stop(graceMs: number, spared?: readonly number[]): ReturnType<HostedRun['stop']> {
    this.#left.abort();
    await this.#prompting;
    return this.#process.stop(graceMs, spared);
  }

  async close(rest: 'read' | 'leave'): Promise<number | null> {
    this.#left.abort();
    await this.#prompting;
    await this.#endRecording(rest);
    return this.#process.close(rest);
  }

  async detach(): Promise<void> {
    this.#left.abort();
    await this.#prompting;
    await this.#process.detach();
  }

  /** Waits until the agent is ready, then pastes the prompt and presses Enter. */
  async #prompt(): Promise<void> {
    const { folder, prompt, server } = this.#spec;
    const mark = join(folder, PROMPTED);
    if (!existsSync(mark)) {
      await this.#becomeReady();
      const pane = await this.#pane();
      if (pane === null || this.#left.signal.aborted) return;
      const shown = await this.#capture();
      writeFileSync(mark, shown, { flag: 'wx', mode: PRIVATE_FILE });
      const text = readRegular(prompt) ?? Buffer.alloc(0);
      if (text.length > 0) {
        await pasteInto(server, pane.pane, withoutPasteEnd(text), true);
        await this.#settle(shown);
      }
      await pasteInto(server, pane.pane, Buffer.from('\r'), false);
    }
    this.#hasPrompt = true;
  }

  /** Only what is visible counts: what has scrolled away may be of the run before, or an answered question. */
  async #becomeReady(): Promise<void> {
    const { readyMs, window, say } = this.#spec;
    const lateAt = performance.now() + readyMs;
    let deadline = lateAt;
    let hasAsked = false;
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- a terminal sends no events
      const shown = await this.#capture(0);
      if (this.#left.signal.aborted) return;
      if (asksQuestion(shown)) {
        if (!hasAsked) say(`warning: agent '${window.name}' asks a question; ${answerIn(window.name)}`);
        hasAsked = true;
        // The next question may follow.
        deadline = performance.now() + readyMs;
        // Without an answer it is inactive.
        this.#hasPrompt = performance.now() >= lateAt;
      } else if (looksReady(shown)) return;
      else if (performance.now() >= deadline) break;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#pause(READY_EVERY_MS);
    }
    say(`warning: agent '${window.name}' did not become ready within ${Math.round(readyMs / 1000)}s`);
  }

  /**
   * Waits until the agent has shown the prompt and shows nothing new: many programs take an Enter that follows a paste too
   * closely for a part of it.
   */
  async #settle(before: string): Promise<void> {
    let shown = before;
    for (
      let stillMs = 0, tookMs = 0;
      stillMs < SETTLED_MS && tookMs < MAX_SETTLE_MS;
      tookMs += SETTLE_EVERY_MS
    ) {
      // oxlint-disable-next-line no-await-in-loop -- a terminal sends no events
      await this.#pause(SETTLE_EVERY_MS);
      if (this.#left.signal.aborted) return;
      // oxlint-disable-next-line no-await-in-loop -- as above
      const now = await this.#capture();
      stillMs = now === shown ? stillMs + SETTLE_EVERY_MS : 0;
      shown = now;
    }
  }

  /** Waits until tmux has passed on the last output of an agent that has exited. */
  async #endRecording(rest: 'read' | 'leave'): Promise<void> {
    try {
      if (rest === 'read') await this.#drain();
      const pane = await this.#pane();
      if (pane !== null) await stopRecording(this.#spec.server, pane.pane);
    } catch (error) {
      // Without an answer of tmux there is no more output than the file has.
      if (!(error instanceof TmuxError)) throw error;
    }
  }

  async #drain(): Promise<void> {
    const log = join(this.#spec.folder, 'stdout.log');
    for (let looks = 0, last = -1; looks < MAX_LOOKS; looks++) {
      // oxlint-disable-next-line no-await-in-loop -- tmux does not say when its buffer is empty
      const pane = await this.#pane();
      const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0;
      if (pane === null || (pane.isDead && size === last)) return;
      last = size;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(LOOK_EVERY_MS);
    }
  }

  async #pane(): Promise<Pane | null> {
    return findPane(this.#spec.server, this.#spec.marker.value);
  }

  /** Empty if the pane is gone. */
  async #capture(scrollback = SCROLLBACK): Promise<string> {
    const pane = await this.#pane();
    if (pane === null) return '';
    return (await capturePane(this.#spec.server, pane.pane, scrollback)) ?? '';
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#left.signal }).catch(() => {});
  }
}

export interface PaneSpec extends Omit<ProcessSpec, 'sandbox'> {
  readonly server: TmuxServer;
  readonly window: WindowSpec;
  /** The file with the prompt, which is pasted. */
  readonly prompt: string;
  /** How long to wait until the agent is ready for it. */
  readonly readyMs: number;
  /** Tells a person something about the run. */
  readonly say: (line: string) => void;
}

const PROMPTED = 'prompted';
const READY_EVERY_MS = 500;
const SETTLE_EVERY_MS = 100;
const SETTLED_MS = 300;
const MAX_SETTLE_MS = 10_000;
const LOOK_EVERY_MS = 25;
const MAX_LOOKS = 80;
/** Lines that have scrolled out of the pane and are still looked at. */
const SCROLLBACK = 1000;

function answerIn(name: string): string {
  return `it gets its prompt once you have answered in: ralph attach ${name}`;
}

/** The bytes that end a paste must not be in it: what follows them would be typed. */
function withoutPasteEnd(text: Buffer): Buffer {
  return text.includes(PASTE_END)
    ? Buffer.from(text.toString('utf8').replaceAll(PASTE_END, PASTE_END.replace('\u001B', '\u241B')))
    : text;
}

const PASTE_END = '\u001B[201~';

/** Whether an interactive agent is ready for its prompt, by what its terminal shows (document 003). */
export function looksReady(screen: string): boolean {
  return screen.split('\n').some((line) => READY.some((pattern) => pattern.test(`${line} `)));
}

/**
 * Whether the terminal ends with a question that Enter answers, such as whether to trust the folder. It is a person's to
 * answer: a prompt would be lost, and its Enter would choose whatever is selected.
 */
export function asksQuestion(screen: string): boolean {
  return screen
    .trimEnd()
    .split('\n')
    .slice(-QUESTION_LINES)
    .some((line) => QUESTION.test(line));
}

/** What Claude Code and Codex show below their questions. */
const QUESTION = /\benter(?:\/esc)?\s+(?:to\s+)?(?:confirm|continue)\b/i;
const QUESTION_LINES = 5;

/** A sign of a prompt stands at the start of a line. A capture has no blanks at the end of a line, so one is added. */
const READY: readonly RegExp[] = [
  /bypass\s+permissions/,
  /permissions?\s+mode/,
  /shift\+tab\s+to\s+cycle/,
  /Claude\s+Code\s+v\d+/,
  /^>\s/,
  /❯\s/,
  /opencode\s+v\d+/,
  /tab\s+switch\s+agent/,
  /ctrl\+p\s+commands/,
  /^\$\s/,
  /^>>>\s/,
  // Not in document 003. Codex shows a prompt sign before it has asked its questions, and its model and folder after.
  /^\s+\S.*\s·\s[~/]/,
];
