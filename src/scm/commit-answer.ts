import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '../agents/agent.ts';
import { inTextMode } from '../agents/text-mode.ts';
import { COMMIT_MESSAGE_REQUEST } from '../loop/prompt.ts';
import { readExcerpt } from '../store/excerpts.ts';

/** The beginning of an agent's answer to the request for a commit message. */
export function answerIn(folder: string, agent: Agent): string {
  const file = answerFile(folder, agent);
  const stated = file === null ? '' : readExcerpt(file, START);
  if (stated !== '') return stated;
  const parser = inTextMode(agent).read({ startedAt: 0, folder });
  let said = '';
  let message: string | null = null;
  let result: string | null = null;
  const printed = Buffer.from(readExcerpt(join(folder, 'stdout.log'), START));
  for (const event of [...parser.push(printed), ...parser.end()]) {
    if (event.type === 'text' && event.isEcho !== true) {
      said += message === null || message === event.message ? event.text : `\n${event.text}`;
      ({ message } = event);
    }
    if (event.type === 'result' && event.ok) result = event.text ?? result;
  }
  return result ?? said;
}

export function removeAnswer(folder: string, agent: Agent): void {
  const file = answerFile(folder, agent);
  if (file !== null) rmSync(file, { force: true });
}

/** Whether the prompt of a run is the request for a commit message. */
export function isMessageRun(folder: string): boolean {
  try {
    return readFileSync(join(folder, 'prompt.md'), 'utf8') === COMMIT_MESSAGE_REQUEST;
  } catch {
    return false;
  }
}

function answerFile(folder: string, { call }: Agent): string | null {
  return call?.answerFile === undefined ? null : join(folder, call.answerFile);
}

const START = { side: 'head', chars: null, marker: '' } as const;
