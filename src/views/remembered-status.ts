/** What `ralph status` has said about a loop that has ended (`store/remembered.ts`): a file in the loop's own folder. */
import { join } from 'node:path';
import { isSettled, stampOf, type Stamp } from '../files/stamp.ts';
import { registeredAs } from '../store/registry.ts';
import { answerIn, filesOfAnswers, readAnswers, writeAnswers, type Texts } from '../store/remembered.ts';
import { loopsFolder } from '../store/store.ts';

/** The lines, without what depends on who reads them: moments in a time zone, the home folder and the mask. */
export interface StatusParts {
  readonly head: readonly string[];
  readonly startedAt: number | null;
  readonly iterationStartedAt: number | null;
  readonly rest: readonly string[];
}

/** The parts, and the folder of the loop's state, if nothing has changed since; null otherwise. */
export function rememberedStatus(
  workspace: string,
  name: string,
  program: string | null,
): { readonly parts: StatusParts; readonly path: string } | null {
  const key = program === null ? null : registeredAs(workspace, name);
  if (program === null || key === null) return null;
  const path = join(loopsFolder(), key.id);
  const answer = answerIn(readAnswers(fileIn(path), program), NAME);
  if (answer === null || stampOf(filesOfAnswers(path))?.text !== answer.stamp) return null;
  const parts = partsIn(answer.texts);
  return parts === null ? null : { parts, path };
}

/** To be called before the loop is read: if a file changes meanwhile, its next stamp is another. */
export function statusWriter(path: string, program: string | null): (parts: StatusParts) => void {
  const stamp = stampOf(filesOfAnswers(path));
  const now = Date.now();
  return (parts) => {
    if (program !== null && stamp !== null && isSettled(stamp, now)) write(path, program, stamp, parts);
  };
}

function write(path: string, program: string, stamp: Stamp, parts: StatusParts): void {
  const { head, startedAt, iterationStartedAt, rest } = parts;
  const texts = [head.join('\n'), numberText(startedAt), numberText(iterationStartedAt), rest.join('\n')];
  writeAnswers(fileIn(path), program, new Map([[NAME, { stamp: stamp.text, texts }]]));
}

const NAME = 'status';

function fileIn(path: string): string {
  return join(path, 'shown.json');
}

function partsIn([head, startedAt, iterationStartedAt, rest]: Texts): StatusParts | null {
  if (typeof head !== 'string' || typeof rest !== 'string') return null;
  if (startedAt === undefined || iterationStartedAt === undefined) return null;
  return {
    head: [head],
    startedAt: numberIn(startedAt),
    iterationStartedAt: numberIn(iterationStartedAt),
    rest: [rest],
  };
}

function numberText(value: number | null): string | null {
  return value === null ? null : String(value);
}

function numberIn(text: string | null): number | null {
  return text === null ? null : Number(text);
}
