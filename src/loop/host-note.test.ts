import { expect, it } from 'vitest';
import { hostNote } from './host-note.ts';
import { presets } from './presets.ts';

it('warns for each preset whose host does not exist yet, and for no other', () => {
  const notes = Object.values(presets).flatMap(({ policy }) => hostNote(policy) ?? []);
  expect(notes).toEqual([
    'warning: preset "promise" runs its agent in one continuing session, which this version does not support yet; the agent runs as a plain process',
  ]);
});
