import { expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import { movedPolicy, movedSpec } from './moved.ts';
import type { Spec } from './spec.ts';

const SPEC: Spec = {
  version: 1,
  id: 'it-1',
  name: 'it',
  workspace: '/old',
  created: '2026-01-01T00:00:00.000Z',
  agent: { kind: 'custom', argv: ['/old/agent', '--file', '/older/x', 'in /old/y'] },
  prompt: { text: 'work', spec: '/old/docs/SPEC.md' },
  worktree: { path: '/old/.trees/it', branch: 'ralph/it', from: 'main', folder: '/old/.trees/it/sub' },
  parent: null,
};

it('takes along every path in the old folder, and the same after a move that was killed', () => {
  const moved = movedSpec(SPEC, '/old', '/a/new');
  expect(moved).toEqual({
    ...SPEC,
    workspace: '/a/new',
    movedFrom: ['/old'],
    agent: { kind: 'custom', argv: ['/a/new/agent', '--file', '/older/x', 'in /old/y'] },
    prompt: { text: 'work', spec: '/a/new/docs/SPEC.md' },
    worktree: { ...SPEC.worktree, path: '/a/new/.trees/it', folder: '/a/new/.trees/it/sub' },
  });
  expect(movedSpec(moved, '/old', '/a/new')).toEqual(moved);
  expect(movedSpec(moved, '/a/new', '/old').movedFrom).toEqual(['/a/new']);
});

it('changes a policy only if it has paths of a folder that the workspace was in before', () => {
  const withMarker = (file: string) => ({
    ...DEFAULT_POLICY,
    completion: {
      ...DEFAULT_POLICY.completion,
      detectors: [{ kind: 'marker', file, phases: ['after'] } as const],
    },
  });
  const moved = { ...SPEC, workspace: '/new', movedFrom: ['/old', '/between'] };
  for (const folder of ['/old', '/between'])
    expect(movedPolicy(withMarker(`${folder}/DONE`), moved)).toEqual(withMarker('/new/DONE'));
  for (const file of ['DONE', '/new/DONE', '/elsewhere/DONE'])
    expect(movedPolicy(withMarker(file), moved)).toBeNull();
  expect(movedPolicy(withMarker('/old/DONE'), SPEC)).toBeNull();
  // The workspace is in a folder again that it was in before.
  expect(movedPolicy(withMarker('/old/DONE'), { ...moved, workspace: '/old' })).toBeNull();
});
