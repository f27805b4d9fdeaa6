/**
 * Where agents in sandboxes can write: a note for each such loop in the state, made before its agent starts. Git that any command of
 * Ralph runs there later gets a view of its own (`git-view.ts`), until the loop is removed.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn, PRIVATE_FILE, PRIVATE_FOLDER } from '../files/files.ts';
import { makeFolders } from '../files/make-folders.ts';
import { readJsonFile } from '../files/read-json.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, flag, list, string } from '../loop/shape.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { stateFolder } from '../store/state-folder.ts';
import { loopsFolder } from '../store/store.ts';
import { isIn } from './sandbox.ts';

export interface SandboxedTree {
  readonly id: string;
  /** With absolute paths. */
  readonly policy: SandboxPolicy;
  /** The folders that its agent can write, and the git folders in them. */
  readonly trees: readonly string[];
}

export function noteSandbox(tree: SandboxedTree): void {
  const text = JSON.stringify(tree);
  const path = join(folderOfNotes(), `${tree.id}.json`);
  if (JSON.stringify(readJsonFile(path)) === text) return;
  makeFolders(folderOfNotes(), PRIVATE_FOLDER);
  replaceFile(path, text, { mode: PRIVATE_FILE });
}

/** The sandboxes of loops that still exist. */
export function sandboxedTrees(): readonly SandboxedTree[] {
  const folder = folderOfNotes();
  const stamp = statSync(folder, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
  if (stamp === undefined) return [];
  if (known?.stamp !== stamp || known.folder !== folder) known = { folder, stamp, trees: readNotes(folder) };
  return known.trees.filter(({ id }) => existsSync(join(loopsFolder(), id)));
}

/** Whether a path is where an agent in this sandbox can write, or above. */
export function touches({ trees }: SandboxedTree, path: string): boolean {
  return trees.some((tree) => isIn(path, tree) || isIn(tree, path));
}

/** What both allow. */
export function stricter(one: SandboxPolicy, other: SandboxPolicy): SandboxPolicy {
  const both = [...one.write, ...other.write].filter((path) =>
    [one, other].every(({ write }) => write.some((folder) => isIn(path, folder))),
  );
  return {
    checks: one.checks || other.checks,
    write: [...new Set(both)],
    hide: [...new Set([...one.hide, ...other.hide])],
    network: one.network && other.network,
  };
}

let known: {
  readonly folder: string;
  readonly stamp: bigint;
  readonly trees: readonly SandboxedTree[];
} | null = null;

function readNotes(folder: string): readonly SandboxedTree[] {
  return namesIn(folder)
    .map((name) => readJsonFile(join(folder, name)))
    .filter(isTree);
}

function isTree(value: unknown): value is SandboxedTree {
  return fits(SHAPE, value);
}

const SHAPE = fields({
  id: string,
  policy: fields({ checks: flag, write: list(string), hide: list(string), network: flag }),
  trees: list(string),
});

function folderOfNotes(): string {
  return join(stateFolder(), 'sandboxed');
}
