import { closeSync, existsSync, readSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent, AgentEvent } from '../agents/agent.ts';
import { openRegular, textOf } from '../files/files.ts';
import { inMessageRun } from '../agents/message-run.ts';
import { COMMIT_MESSAGE_REQUEST } from '../loop/prompt.ts';
import { readExcerpt } from '../files/excerpts.ts';
import type { LoopFolder } from '../home/home.ts';

/** The beginning of an agent's answer to the request for a commit message. */
export function answerIn(loop: LoopFolder, run: string, agent: Agent): string {
  const file = answerFile(loop, run, agent);
  const folder = loop.run(run);
  const stated = file === null ? '' : readExcerpt(file, START);
  if (stated !== '') return stated;
  const answer = new Answer();
  const parser = inMessageRun(agent).read({ startedAt: 0, folder });
  // The answer is at the end of a stream, so all of it is read.
  for (const chunk of chunksOf(join(folder, 'stdout.log'))) answer.take(parser.push(chunk));
  answer.take(parser.end());
  return answer.text;
}

class Answer {
  #said = '';
  #message: string | null = null;
  #result: string | null = null;

  /** The final answer, or everything that the agent said. */
  get text(): string {
    return this.#result ?? this.#said;
  }

  take(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.type === 'text' && event.isEcho !== true && this.#said.length < MAX_LENGTH) {
        const isSame = this.#message === null || this.#message === event.message;
        this.#said += isSame ? event.text : `\n${event.text}`;
        this.#message = event.message;
      }
      if (event.type === 'result' && event.ok) this.#result = event.text ?? this.#result;
    }
  }
}

const MAX_LENGTH = 2 ** 20;

function* chunksOf(path: string): Generator<Buffer> {
  if (!existsSync(path)) return;
  const file = openRegular(path, 'read');
  try {
    const chunk = Buffer.alloc(2 ** 16);
    for (;;) {
      const length = readSync(file, chunk);
      if (length === 0) return;
      yield chunk.subarray(0, length);
    }
  } finally {
    closeSync(file);
  }
}

export function removeAnswer(loop: LoopFolder, run: string, agent: Agent): void {
  const file = answerFile(loop, run, agent);
  if (file !== null) rmSync(file, { force: true });
}

/** Whether the prompt of a run is the request for a commit message. */
export function isMessageRun(folder: string): boolean {
  return textOf(join(folder, 'prompt.md')) === COMMIT_MESSAGE_REQUEST;
}

/** The agent writes it itself. */
function answerFile({ workspaceFolder }: LoopFolder, run: string, { call }: Agent): string | null {
  return call?.answerFile === undefined ? null : join(workspaceFolder.run(run), call.answerFile);
}

const START = { side: 'head', chars: null, marker: '' } as const;
