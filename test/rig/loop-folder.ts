import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { openJournal } from '../../src/journal/file.ts';
import { DEFAULT_POLICY } from '../../src/loop/default-policy.ts';
import type { LoopEvent } from '../../src/loop/event.ts';
import { reserve } from '../../src/home/registry.ts';
import type { Spec } from '../../src/home/spec.ts';
import { LoopFolder } from '../../src/home/home.ts';

/** The folders of a loop `it` in a temporary place: its state, and the workspace of its workspace folder. */
export function makeLoopFolder(): LoopFolder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-folder-')));
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

/** The state folder of the current test, which its process uses, and a workspace. */
export function openState(): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-state-')));
  vi.stubEnv('RALPH_STATE', join(root, 'state'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  });
  const workspace = join(root, 'w');
  mkdirSync(workspace);
  return workspace;
}

/** A loop of the current state folder that no process drives, with these events after its first. */
export function registerLoop(
  workspace: string,
  name: string,
  events: readonly LoopEvent[] = [],
  more: Partial<Spec> = {},
): LoopFolder {
  const folder = new LoopFolder({ id: `${name}-12345678`, name, workspace });
  const journal = openJournal(folder.journal);
  const created: LoopEvent = { type: 'loop.created', name, policy: DEFAULT_POLICY, at: 0 };
  for (const event of [created, ...events]) journal.append(event, journal.length);
  journal.close();
  writeFileSync(folder.spec, JSON.stringify(specFor(folder, more)));
  writeFileSync(folder.lock, '');
  reserve(folder);
  return folder;
}
