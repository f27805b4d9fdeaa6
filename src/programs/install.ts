/**
 * `ralph hook install` and `uninstall`: adds Ralph to a host program, and removes it again.
 *
 * 1. All changes of a call are made under a lock, or none. They are planned again if a file has changed meanwhile.
 * 2. A file that Ralph has not written, or that was edited since, is neither replaced nor removed.
 * 3. Installing twice changes nothing. Uninstalling restores settings byte for byte, unless they were edited since.
 */
import { dirname, join } from 'node:path';
import { namesIn } from '../files/files.ts';
import { thisProcess } from '../home/lock-owner.ts';
import { takeLock } from '../home/lock.ts';
import { stateFolder } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';
import {
  backupsOf,
  ChangedMeanwhile,
  make,
  removeIfEmpty,
  textAt,
  type Change,
  type Made,
} from './change.ts';
import { diffText } from './diff-text.ts';
import { hasHooks, withHooks, withoutHooks } from './hook-settings.ts';
import type { Parts } from './host-program.ts';
import { authorOf } from './own-file.ts';

/** What was changed, or would be. */
export interface Installed {
  readonly changes: readonly ChangedFile[];
  /** Files of Ralph that stay, because they were edited. */
  readonly left: readonly string[];
}

interface ChangedFile {
  readonly path: string;
  readonly action: 'created' | 'changed' | 'removed';
  /** The copy of what was there. */
  readonly backup: string | null;
  /** What would change in it; null if it was changed. */
  readonly diff: string | null;
}

/** Adds Ralph's parts to a host program, or updates them. */
export function install(parts: Parts, isDryRun: boolean): Promise<Installed> {
  return carryOut(parts, isDryRun, () => ({ changes: additions(parts), left: [] }));
}

/** Removes Ralph's parts from a host program. */
export async function uninstall(parts: Parts, isDryRun: boolean): Promise<Installed> {
  const result = await carryOut(parts, isDryRun, () => removals(parts));
  if (!isDryRun && result.changes.length > 0) parts.folders.forEach(removeIfEmpty);
  return result;
}

/** The file in which these parts are installed, at least partly; null if in none. */
export function installedIn({ settings, files, roots }: Parts): string | null {
  if (settings !== null && hasHooks(textOfOwn(settings.path, roots) ?? '', settings.path))
    return settings.path;
  return files.find(({ path }) => authorOf(textOfOwn(path, roots) ?? '') !== 'other')?.path ?? null;
}

interface Plan {
  readonly changes: readonly Change[];
  readonly left: readonly string[];
}

async function carryOut(parts: Parts, isDryRun: boolean, plan: () => Plan): Promise<Installed> {
  const first = plan();
  if (isDryRun || first.changes.length === 0)
    return {
      changes: first.changes.map((change) => ({
        ...shown({ change, backup: null }),
        diff: diffText(change),
      })),
      left: first.left,
    };
  const release = await lock();
  try {
    for (let attempt = 1; ; attempt++) {
      const { changes, left } = plan();
      try {
        return { changes: make(changes, parts.roots, new Date()).map(shown), left };
      } catch (error) {
        if (!(error instanceof ChangedMeanwhile)) throw error;
        if (attempt === 5)
          throw new UserError(`${error.message} changes all the time; nothing was changed`, 2, {
            cause: error,
          });
      }
    }
  } finally {
    release();
  }
}

function shown({ change: { path, before, after }, backup }: Made): ChangedFile {
  const action = after === null ? 'removed' : before === null ? 'created' : 'changed';
  return { path, action, backup, diff: null };
}

/** Only one process at a time changes settings: between the last look at a file and its replacement another one could be lost. */
async function lock(): Promise<() => void> {
  const path = join(stateFolder(), 'hook-install.lock');
  for (let attempt = 1; attempt <= 200; attempt++) {
    // oxlint-disable-next-line no-await-in-loop -- waits for the other process
    const result = await takeLock(path, thisProcess());
    if (result.taken) return result.release;
    // oxlint-disable-next-line no-await-in-loop
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new UserError(
    `another "ralph hook" has been changing settings for 10 seconds (${path}); nothing was changed`,
  );
}

/** The settings come last: they name the other files. */
function additions({ files, settings, roots }: Parts): readonly Change[] {
  const changes = files.flatMap(({ path, text }): readonly Change[] => {
    const before = textAt(path, roots);
    if (before === text) return [];
    const author = before === null ? 'ralph' : authorOf(before);
    if (author !== 'ralph')
      throw new UserError(
        `${path} exists and ${author === 'edited' ? 'was edited since Ralph wrote it' : 'was not written by Ralph'}; rename or remove it first; nothing was changed`,
      );
    return [{ path, before, after: text, backup: false }];
  });
  if (settings === null) return changes;
  const { path, hooks } = settings;
  const before = textAt(path, roots);
  const after = withHooks(before ?? '', hooks, path);
  return after === before ? changes : [...changes, { path, before, after, backup: true }];
}

function removals(parts: Parts): Plan {
  const { files, roots } = parts;
  const found = [...new Set(files.map(({ path }) => dirname(path)))]
    .flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
    .flatMap((path) => {
      const text = /\.(?:md|yaml|js)$/.test(path) ? textOfOwn(path, roots) : null;
      return text === null ? [] : [{ path, text, author: authorOf(text) }];
    });
  return {
    changes: [
      ...settingsRemovals(parts),
      ...found.filter(({ author }) => author === 'ralph').map(({ path, text }) => removal(path, text)),
    ],
    left: found.filter(({ author }) => author === 'edited').map(({ path }) => path),
  };
}

function removal(path: string, before: string): Change {
  return { path, before, after: null, backup: false };
}

/** A file beside ours may be anything, and is left alone then. */
function textOfOwn(path: string, roots: readonly string[]): string | null {
  try {
    return textAt(path, roots);
  } catch {
    return null;
  }
}

/** If the settings are what the install made of a copy, the copy is put back, byte for byte; else the hooks are taken out. */
function settingsRemovals({ settings, roots }: Parts): readonly Change[] {
  if (settings === null) return [];
  const { path, hooks } = settings;
  const before = textAt(path, roots);
  if (before === null || withoutHooks(before, path) === before) return [];
  const copies = backupsOf(path).flatMap((copy) => {
    const text = textOfOwn(copy, roots);
    return text === null ? [] : [{ path: copy, text }];
  });
  const gives = (text: string): boolean => {
    try {
      return withHooks(text, hooks, path) === before;
    } catch {
      return false;
    }
  };
  const source = copies.find(({ text }) => !hasHooks(text, path) && gives(text));
  const isNew = source === undefined && gives('');
  const after = isNew ? null : (source?.text ?? withoutHooks(before, path));
  const obsolete = copies.filter(({ text }) => text === after || gives(text));
  return [
    { path, before, after, backup: !isNew && obsolete.length === 0 },
    ...obsolete.map((copy) => removal(copy.path, copy.text)),
  ];
}
