import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Spec } from '../../src/store/spec.ts';
import { LoopFolder } from '../../src/store/store.ts';

/** The folders of a loop `it` in a temporary place: its state, and the workspace of its desk. */
export function makeLoopFolder(): LoopFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-loop-folder-')));
  const workspace = join(root, 'w');
  mkdirSync(workspace);
  return new LoopFolder({ id: 'it-12345678', name: 'it', workspace }, join(root, 'state'));
}

export function removeLoopFolder({ workspace }: LoopFolder): void {
  rmSync(dirname(workspace), { recursive: true, force: true });
}

/** The spec of that loop. */
export function specFor({ id, name, workspace }: LoopFolder, more: Partial<Spec> = {}): Spec {
  return {
    version: 1,
    id,
    name,
    workspace,
    created: new Date(0).toISOString(),
    agent: { kind: 'custom', argv: ['agent'] },
    prompt: { text: 'x' },
    parent: null,
    ...more,
  };
}
