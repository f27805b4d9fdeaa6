import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import { isTaken } from '../files/files.ts';
import { createFile } from '../files/replace-file.ts';
import { copyToDesk, onDesk } from '../store/desk.ts';
import type { LoopFolder } from '../store/store.ts';

/**
 * The output of a run on the desk: `agent-stdout.txt` and `agent-stderr.txt` are copies of the logs (the end of long ones),
 * and `output.md` is what the agent wrote there, else its final answer, else a copy of its stdout.
 */
export class RunOutputs {
  readonly #folder: LoopFolder;
  /** The last message of the running agent. */
  #message: { readonly id: string; text: string } | null = null;
  #answer: string | null = null;

  constructor(folder: LoopFolder) {
    this.#folder = folder;
  }

  /** Another run is about to start. */
  begin(): void {
    this.#message = null;
    this.#answer = null;
  }

  heard(event: AgentEvent): void {
    if (event.type === 'result' && event.ok) this.#answer = event.text ?? this.#answer;
    if (event.type !== 'text' || event.isEcho === true) return;
    if (this.#message?.id !== event.message) this.#message = { id: event.message, text: '' };
    if (this.#message.text.length < MAX_LENGTH) this.#message.text += event.text;
  }

  /** The run has ended; `hasOwnText` tells whether what was heard is the agent's own text. */
  end(run: string, hasOwnText: boolean): void {
    const { desk } = this.#folder;
    const log = (stream: 'stdout' | 'stderr'): string => join(this.#folder.run(run), `${stream}.log`);
    // A run that did not start has no output.
    for (const [from, to] of [
      [log('stdout'), desk.stdout(run)],
      [log('stderr'), desk.stderr(run)],
    ] as const)
      if (existsSync(from)) copyToDesk(this.#folder, from, to);
    const output = desk.output(run);
    const text = hasOwnText ? (this.#answer ?? this.#message?.text ?? '').trim() : '';
    const isWritten = onDesk(desk, desk.run(run), (folder) => {
      const path = join(folder, basename(output));
      if (isTaken(path)) return true;
      return text !== '' && createFile(path, `${text}\n`);
    });
    if (!isWritten && existsSync(log('stdout'))) copyToDesk(this.#folder, log('stdout'), output);
  }
}

const MAX_LENGTH = 2 ** 20;
