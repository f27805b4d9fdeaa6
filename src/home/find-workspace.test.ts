import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { workspaceAt, workspaceMovedTo, workspaceWith } from './find-workspace.ts';
import { reserve } from './registry.ts';

let root: string;
let state: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'ralph-find-'));
  state = join(root, 'state');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function folder(path: string): string {
  const made = join(root, path);
  mkdirSync(made, { recursive: true });
  return made;
}

function start(name: string, path: string): string {
  const workspace = folder(path);
  reserve({ id: `${name}-${path.length}`, name, workspace }, state);
  return workspace;
}

it('finds loops from every folder below their workspace, the nearest first', () => {
  const outer = start('outer', 'repository');
  start('both', 'repository');
  folder('repository/.git');
  const inner = start('both', 'repository/packages/a');
  const deep = folder('repository/packages/a/src/deep');
  expect(workspaceAt(deep, state)).toBe(inner);
  expect(workspaceWith(deep, 'both', state)).toBe(inner);
  expect(workspaceWith(deep, 'outer', state)).toBe(outer);
  expect(workspaceAt(folder('repository/packages/b'), state)).toBe(outer);
  expect(workspaceWith(folder('repository/packages/b'), 'both', state)).toBe(outer);
});

it('does not look above the nearest repository, which may be a submodule or a worktree', () => {
  start('it', 'repository');
  const nested = folder('repository/nested/src');
  folder('repository/nested/.git');
  const tree = folder('repository/tree');
  writeFileSync(join(tree, '.git'), 'gitdir: elsewhere\n');
  for (const from of [nested, tree]) {
    expect(workspaceAt(from, state)).toBe(from);
    expect(workspaceWith(from, 'it', state)).toBe(from);
  }
});

it('finds them outside of a repository too, and stays where it is if there are none', () => {
  const below = folder('notes/2024');
  expect(workspaceAt(below, state)).toBe(below);
  const notes = start('it', 'notes');
  expect(workspaceAt(below, state)).toBe(notes);
  expect(workspaceWith(below, 'it', state)).toBe(notes);
  expect(workspaceWith(below, '../it', state)).toBe(notes);
});

it('stops at a workspace folder that belongs to no loop, as in a copy of a workspace', () => {
  start('it', 'repository');
  folder('repository/copy/.ralph/loops/it');
  const below = folder('repository/copy/src');
  expect(workspaceAt(below, state)).toBe(join(root, 'repository/copy'));
  expect(workspaceWith(below, 'it', state)).toBe(join(root, 'repository/copy'));
  start('other', 'repository');
  expect(workspaceWith(below, 'other', state)).toBe(join(root, 'repository'));
});

it('finds the new place of a moved workspace by a workspace folder of its loops, also after a move that was killed', () => {
  const loop = { id: 'it-1', name: 'it', workspace: '/gone' };
  const moved = folder('new/.ralph/loops/it').slice(0, -'/.ralph/loops/it'.length);
  // A loop of the same name that belongs to another workspace.
  const other = start('it', 'new/inner');
  folder('new/inner/.ralph/loops/it');
  const deep = folder('new/inner/src');
  expect(workspaceMovedTo(deep, [loop], state)).toBe(moved);
  expect(workspaceMovedTo(other, [loop], state)).toBe(moved);
  reserve({ ...loop, workspace: moved }, state);
  expect(workspaceMovedTo(deep, [loop], state)).toBe(moved);
  const empty = folder('elsewhere');
  expect(workspaceMovedTo(empty, [loop], state)).toBe(empty);
});
