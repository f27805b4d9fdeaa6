/**
 * The loops of all workspaces of this user, and what must be kept for them but may not lie in a workspace: one file
 * each, so that many can be written at once. Under the XDG state folder.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { replaceFile } from './replace.ts';

/** `$XDG_STATE_HOME/ralph`, or its place in the home folder. */
export function stateFolder(env: NodeJS.ProcessEnv = process.env): string {
  const stated = env['XDG_STATE_HOME'];
  const base = stated !== undefined && isAbsolute(stated) ? stated : join(home(), '.local', 'state');
  return join(base, 'ralph');
}

/** Loaded when it is needed: `status` does without it. */
function home(): string {
  return process.getBuiltinModule('node:os').homedir();
}

export interface RegisteredLoop {
  readonly id: string;
  readonly name: string;
  readonly workspace: string;
  /** The loop's own folder. */
  readonly folder: string;
}

export function register(loop: RegisteredLoop, state: string = stateFolder()): void {
  writeAside(join(state, 'loops'), loop.id, loop, 0o644);
}

export function unregister(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'loops', `${id}.json`));
}

/** All loops that were ever registered and not removed, in no order. */
export function registered(state: string = stateFolder()): readonly RegisteredLoop[] {
  const folder = join(state, 'loops');
  return namesIn(folder).flatMap((file) => {
    const value = readJson(join(folder, file));
    return isRegistered(value) ? [value] : [];
  });
}

/** The environment of whoever started a loop, and its command as it was given: readable for this user only. */
export interface Kept {
  readonly env: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
}

export function keep(id: string, secrets: Kept, state: string = stateFolder()): void {
  writeAside(join(state, 'kept'), id, secrets, 0o600);
}

export function kept(id: string, state: string = stateFolder()): Kept | null {
  const value = readJson(join(state, 'kept', `${id}.json`));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep`, and nobody else may write there
  return value === null ? null : (value as Kept);
}

export function forget(id: string, state: string = stateFolder()): void {
  removeQuietly(join(state, 'kept', `${id}.json`));
}

/** What is not there, or cannot be there, need not be removed. */
export function removeQuietly(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // A home that is no folder has nothing in it.
  }
}

/** A small file of the state folder; nobody sees half of it. */
export function writeAside(folder: string, id: string, value: unknown, mode: number): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  replaceFile(join(folder, `${id}.json`), `${JSON.stringify(value)}\n`, { mode });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  } catch {
    return [];
  }
}

/** What a file says; null where it says nothing that can be read. */
export function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

function isRegistered(value: unknown): value is RegisteredLoop {
  return typeof value === 'object' && value !== null && 'id' in value && 'name' in value && 'folder' in value;
}
