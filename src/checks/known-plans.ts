/** The items of a plan as a loop remembers them, in a file that no agent can write. */
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, flag, list, nullable, string } from '../loop/shape.ts';
import type { KnownItem, Plan } from './plan-items.ts';

/** Remembers the items of a plan, with anything else that belongs to that moment. */
export function rememberItems(path: string, { items }: Plan, more: object = {}): void {
  const known = items.map(({ id, title, isDone }): KnownItem => ({ id, title, isDone }));
  replaceFile(path, `${JSON.stringify({ ...more, items: known })}\n`, { mode: PRIVATE_FILE, flush: true });
}

/** What was remembered; null if nothing was. */
export function recallItems(path: string): Remembered | null {
  const value = readJsonFile(path);
  return isRemembered(value) ? value : null;
}

export interface Remembered {
  readonly items: readonly KnownItem[];
}

function isRemembered(value: unknown): value is Remembered {
  return fits(FILE, value);
}

const FILE = fields({ items: list(fields({ id: nullable(string), title: string, isDone: flag })) });
