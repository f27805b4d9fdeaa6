/**
 * The inbox of a loop: controls that people and programs send to it, one file per message.
 *
 * 1. A message appears complete, because its file is written elsewhere and renamed. File names sort by time.
 * 2. The owner journals a message before it removes the file, and drops a message whose id is in the journal. So every
 *    message counts once, and its sender can see whether it is queued or delivered.
 * 3. Any process can write here. What is not a regular file with a control that `control-shape.ts` accepts is moved to
 *    `rejected/` with a warning, and changes nothing.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, rmSync, renameSync } from 'node:fs';
import { join, basename } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER, readRegular, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { controlIn, problemsOfMessage } from '../loop/control-shape.ts';
import { MAX_TELL_LENGTH, type Control } from '../loop/event.ts';
import { describeProblem } from '../loop/shape.ts';
import { reasonOf, UserError } from '../user-error.ts';

export interface Message {
  readonly id: string;
  readonly control: Control;
}

/** Puts a message into the inbox and returns its id. */
export function post(folder: string, control: Control, now: number): string {
  const [problem] = problemsOfMessage(control);
  if (problem !== undefined) throw new UserError(`cannot send this message: ${describeProblem(problem)}`);
  makeFolders(folder, PRIVATE_FOLDER);
  const id = `${String(now).padStart(15, '0')}-${randomUUID()}`;
  const path = join(folder, `${id}.json`);
  replaceFile(path, `${JSON.stringify(control)}\n`, { flush: true, mode: PRIVATE_FILE });
  return id;
}

/** Reads the inbox for the owner of the loop, and rejects what is not a message. */
export class Inbox {
  readonly #folder: string;
  readonly #warn: (line: string) => void;
  /** Files that could not be moved away; each is reported once. */
  readonly #stuck = new Set<string>();

  constructor(folder: string, warn: (line: string) => void = () => {}) {
    this.#folder = folder;
    this.#warn = warn;
  }

  /** Makes the folder; what is in its place and is not a folder is moved away. */
  prepare(): void {
    const found = lstatSync(this.#folder, { throwIfNoEntry: false });
    if (found !== undefined && !found.isDirectory()) {
      const moved = setAside(this.#folder, `${this.#folder}.${REJECTED}`);
      const where = moved === null ? '' : `; it is now ${moved}`;
      this.#warn(`warning: ${this.#folder} is not a folder, so no message arrived${where}`);
    }
    makeFolders(this.#folder, PRIVATE_FOLDER);
  }

  /** The messages in the inbox, oldest first. Files with other names than those of messages are ignored. */
  messages(): readonly Message[] {
    const found: Message[] = [];
    const rejected: string[] = [];
    // An inbox that is missing or no folder has none; a sender reports that.
    for (const name of namesIn(this.#folder)) {
      if (name.startsWith('.') || !name.endsWith('.json') || this.#stuck.has(name)) continue;
      const reading = readMessage(join(this.#folder, name));
      if (reading === null) continue;
      if (typeof reading !== 'string') found.push({ id: name.slice(0, -'.json'.length), control: reading });
      else rejected.push(this.#reject(name, reading));
    }
    this.#report(rejected);
    return found;
  }

  /** Removes a message; the journal must have it. */
  remove(id: string): void {
    rmSync(join(this.#folder, `${id}.json`), { force: true });
  }

  #reject(name: string, why: string): string {
    const path = join(this.#folder, name);
    const moved = setAside(path, join(this.#folder, REJECTED));
    if (moved === null) this.#stuck.add(name);
    return `rejected the message ${path}: ${why}; ${moved === null ? 'it could not be moved away' : `it is now ${moved}`}`;
  }

  #report(rejected: readonly string[]): void {
    for (const line of rejected.slice(0, SHOWN_REJECTIONS)) this.#warn(`warning: ${line}`);
    const more = rejected.length - SHOWN_REJECTIONS;
    if (more > 0) this.#warn(`warning: rejected ${more} more messages: see ${join(this.#folder, REJECTED)}`);
  }
}

/** The controls that wait for the owner; what is not a message is left for it to reject. */
export function queuedControls(folder: string): readonly Control[] {
  return namesIn(folder)
    .filter((name) => !name.startsWith('.') && name.endsWith('.json'))
    .map((name) => readMessage(join(folder, name)))
    .filter((control) => control !== null && typeof control !== 'string');
}

export function isQueued(folder: string, id: string): boolean {
  return existsSync(join(folder, `${id}.json`));
}

const REJECTED = 'rejected';
/** So that a flood of files does not become a flood of warnings. */
const SHOWN_REJECTIONS = 3;
/** A character of a text takes at most six bytes in JSON. */
const MAX_MESSAGE_BYTES = 6 * MAX_TELL_LENGTH + 1000;

/** The control in a file, or why there is none; null if the file is gone. */
function readMessage(path: string): Control | string | null {
  let value: unknown;
  try {
    const content = readRegular(path, MAX_MESSAGE_BYTES);
    if (content === null) return null;
    value = JSON.parse(content.toString('utf8'));
  } catch (error) {
    return error instanceof SyntaxError ? 'it is not JSON' : reasonOf(error);
  }
  const control = controlIn(value);
  if (control !== null) return control;
  const [problem] = problemsOfMessage(value);
  return problem === undefined ? 'it is no control' : describeProblem(problem);
}

/** Moves a file of any kind, unread, into a folder, and returns its new path; null if that is not possible. */
function setAside(path: string, folder: string): string | null {
  try {
    makeFolders(folder, PRIVATE_FOLDER);
    const name = basename(path);
    for (let number = 0; ; number++) {
      const target = join(folder, number === 0 ? name : `${name}.${number}`);
      if (existsSync(target)) continue;
      renameSync(path, target);
      return target;
    }
  } catch {
    return null;
  }
}
