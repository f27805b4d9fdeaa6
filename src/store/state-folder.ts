/** The user's state folder and the small JSON files in it. */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { replaceFile } from './replace-file.ts';

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

export function namesIn(folder: string): readonly string[] {
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
