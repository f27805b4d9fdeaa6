/**
 * What `ralph ls` and `ralph status` have said about loops that have ended, so that they need not read their journals again.
 *
 * 1. An answer counts only as long as the files that it was made from have the same stamp: the journal, the spec, and the lock,
 *    which every owner writes. So a loop that is resumed is read again, also before the first event of its new owner.
 * 2. Only an answer that depends on nothing else is remembered (`views/lasting.ts`). Neither is one in which something was
 *    masked, so a file of answers has no secrets, and the mask of the one who asks is put on every answer.
 * 3. Files that are damaged, that another user can write, or that another version of the program wrote count as missing.
 * 4. A file is replaced as a whole. Of two processes that write it at once, one does it in vain.
 * 5. If it cannot be written, the next command makes the answers again.
 */
import { closeSync, fstatSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openRegular, PRIVATE_FILE, PRIVATE_FOLDER, readAll } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { replaceFile } from '../files/replace-file.ts';
import { stampOf } from '../files/stamp.ts';

export interface Answer {
  readonly stamp: string;
  readonly texts: Texts;
}

export type Texts = readonly (string | null)[];

/** The answers in a file by their names. They are looked at one by one, with `answerIn`. */
export type Answers = Readonly<Record<string, unknown>>;

/** The answers that this program wrote into a file. */
export function readAnswers(path: string, program: string): Answers {
  try {
    const value: unknown = JSON.parse(readOwn(path));
    return isObject(value) && value['program'] === program && isObject(value['answers'])
      ? value['answers']
      : {};
  } catch {
    return {};
  }
}

export function answerIn(answers: Answers, name: string): Answer | null {
  const answer = Object.hasOwn(answers, name) ? answers[name] : null;
  if (!isObject(answer)) return null;
  const { stamp, texts } = answer;
  return typeof stamp === 'string' && areTexts(texts) ? { stamp, texts } : null;
}

export function writeAnswers(path: string, program: string, answers: ReadonlyMap<string, Answer>): void {
  try {
    makeFolders(dirname(path), PRIVATE_FOLDER);
    const text = `${JSON.stringify({ program, answers: Object.fromEntries(answers) })}\n`;
    if (text.length <= MAX_BYTES) replaceFile(path, text, { mode: PRIVATE_FILE });
  } catch {
    // Nothing depends on it.
  }
}

/** The stamp of the built command in a folder, which is another after every build and every installation; null if there is none. */
export function stampOfProgram(folder: string): string | null {
  return stampOf([join(folder, 'main.js')])?.text ?? null;
}

/** The files of a loop that all answers about it come from, as long as it has no owner. */
export function filesOfAnswers(folder: string): readonly string[] {
  // Not with `join`: a list looks at thousands.
  return [`${folder}/journal.jsonl`, `${folder}/spec.json`, `${folder}/lock`];
}

/** The text of a file that belongs to this user, and that others cannot write. */
function readOwn(path: string): string {
  const descriptor = openRegular(path, 'read');
  try {
    const { uid, mode, size } = fstatSync(descriptor);
    if (uid !== process.getuid?.() || (mode & 0o022) !== 0 || size > MAX_BYTES) return '';
    return readAll(descriptor, size).toString('utf8');
  } finally {
    closeSync(descriptor);
  }
}

/** The rows of some ten thousand loops. */
const MAX_BYTES = 16 * 2 ** 20;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function areTexts(value: unknown): value is Texts {
  return Array.isArray(value) && value.every((one) => one === null || typeof one === 'string');
}
