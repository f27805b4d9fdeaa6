import { describe, expect, it } from 'vitest';
import { changedSentences, evidenceSection } from './evidence-text.ts';
import type { ChangedEvidence } from './event.ts';

const file = (path: string, more: Partial<ChangedEvidence> = {}): ChangedEvidence => ({
  path,
  how: 'changed',
  as: 'check',
  ...more,
});
const section = (changed: readonly ChangedEvidence[], rejects = false): string =>
  evidenceSection(
    {
      found: { changed, more: 0, protected: 0, problem: null },
      restoration: null,
    },
    'a1b2',
    rejects,
  );

describe('what is said about changed evidence', () => {
  it('says of a prompt file that it was deleted, or that it was changed', () => {
    const prompt = (how: ChangedEvidence['how']) =>
      changedSentences({ changed: [file('PROMPT.md', { as: 'prompt', how })], more: 0 });
    expect(prompt('changed')).toEqual(['the prompt file was changed since the start: PROMPT.md']);
    expect(prompt('deleted')).toEqual(['the prompt file was deleted since the start: PROMPT.md']);
  });

  it.each([
    [[file('a.sh')], 0, 'a file that verifies the work was changed since the start: a.sh'],
    [
      [file('a.sh', { how: 'deleted' })],
      0,
      'a file that verifies the work was deleted since the start: a.sh',
    ],
    [
      [file('package.json', { part: 'scripts.test' })],
      0,
      'a file that verifies the work was changed since the start: package.json (scripts.test)',
    ],
    [
      [file('a.sh'), file('b.sh', { how: 'deleted' })],
      0,
      'files that verify the work were changed since the start: a.sh, b.sh (deleted)',
    ],
    [[file('a.sh')], 2, 'files that verify the work were changed since the start: a.sh and 2 more'],
  ])('is in the singular for one file: %j and %i more', (changed, more, sentence) => {
    expect(changedSentences({ changed, more })).toEqual([sentence]);
  });

  it('is in the singular in a prompt, too', () => {
    const one = section([file('a.sh', { as: 'protected' })], true);
    expect(one).toContain('This file existed when the loop started, and an earlier run changed it:\n- a.sh');
    expect(one).toContain('Undo the change unless the task needs it;');
    expect(one).toContain('It is a protected file: no claim');
    expect(section([file('a.sh', { how: 'deleted' })])).toContain('an earlier run deleted it:');
    const two = section([file('a.sh', { as: 'protected' }), file('b.sh')], true);
    expect(two).toContain(
      'These files existed when the loop started, and earlier runs changed or deleted them:',
    );
    expect(two).toContain('Protected files are among them: no claim');
  });

  it('is in the singular about a protected file that was put back', () => {
    const back = (...restored: readonly string[]): string =>
      evidenceSection(
        {
          found: {
            changed: restored.map((path) => file(path, { as: 'protected' })),
            more: 0,
            protected: restored.length,
            problem: null,
          },
          restoration: { restored, more: 0, failed: [], moreFailed: 0 },
        },
        'a1b2',
        false,
      );
    expect(back('a.sh')).toContain('Ralph put this protected file back. Do not change it:\n- a.sh');
    expect(back('a.sh', 'b.sh')).toContain('Ralph put these protected files back. Do not change them:');
  });
});
