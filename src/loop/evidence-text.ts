import { withMore } from './counted.ts';
import type { ChangedEvidence, Evidence, Restoration } from './event.ts';
import type { EvidenceFeedback } from './state.ts';

/** What was changed, in sentences: the prompt, and what verifies the work. */
export function changedSentences({ changed, more }: Pick<Evidence, 'changed' | 'more'>): readonly string[] {
  const prompt = changed.filter(({ as }) => as === 'prompt');
  const others = changed.filter(({ as }) => as !== 'prompt');
  return [
    ...prompt.map(({ path, how }) => `the prompt file was ${how} since the start: ${path}`),
    ...(others.length === 0 ? [] : [changedText({ changed: others, more })]),
  ];
}

function changedText(files: Pick<Evidence, 'changed' | 'more'>): string {
  const [only, ...rest] = files.changed;
  return only !== undefined && rest.length === 0 && files.more === 0
    ? `a file that verifies the work was ${only.how} since the start: ${nameOf(only, only.part)}`
    : `files that verify the work were changed since the start: ${namesOf(files)}`;
}

/** The changed files on one line: `check.sh, test/a.test.ts (deleted), package.json (scripts.test) and 12 more`. */
function namesOf({ changed, more }: Pick<Evidence, 'changed' | 'more'>): string {
  return withMore(
    changed.map((file) => nameOf(file, file.part, file.how === 'deleted' ? 'deleted' : undefined)),
    more,
  );
}

/** A file, and what is special about it. */
function nameOf({ path }: ChangedEvidence, ...special: readonly (string | undefined)[]): string {
  const notes = special.filter((note) => note !== undefined);
  return notes.length === 0 ? path : `${path} (${notes.join(', ')})`;
}

/** Why files could not be put back. */
export function failuresOf({ failed, moreFailed }: Restoration): string {
  return withMore(
    failed.map(({ path, reason }) => `${path}: ${reason}`),
    moreFailed,
  );
}

/** The section of a prompt about changed evidence. `tree` is the id of the start, and `rejects` whether claims are rejected. */
export function evidenceSection(
  { found, restoration }: EvidenceFeedback,
  tree: string,
  rejects: boolean,
): string {
  const isBack = (path: string): boolean => restoration?.restored.includes(path) === true;
  const left = found.changed.filter(({ as, path }) => as !== 'protected' || !isBack(path));
  const hidden = Math.max(0, found.more - (restoration?.more ?? 0));
  const isOne = left.length === 1 && hidden === 0;
  const isRejecting = rejects && left.some(({ as }) => as === 'protected');
  const isOnlyPrompt = found.changed.every(({ as }) => as === 'prompt') && found.problem === null;
  return [
    isOnlyPrompt ? '## The prompt file' : '## Files that verify the work',
    ...(found.problem === null ? [] : ['', `Ralph could not compare them with the start: ${found.problem}.`]),
    ...(left.length === 0
      ? []
      : [
          '',
          isOne ? changedOne(left) : CHANGED,
          ...left.map(item),
          ...moreItem(hidden),
          '',
          undo(tree, isOne),
        ]),
    ...(isRejecting ? ['', isOne ? REJECTING_ONE : REJECTING] : []),
    ...(restoration === null ? [] : restored(restoration)),
  ].join('\n');
}

const CHANGED = 'These files existed when the loop started, and earlier runs changed or deleted them:';
const REJECTING =
  'Protected files are among them: no claim to be done is accepted until they are as they were at the start.';
const REJECTING_ONE =
  'It is a protected file: no claim to be done is accepted until it is as it was at the start.';

function changedOne([file]: readonly ChangedEvidence[]): string {
  return `This file existed when the loop started, and an earlier run ${file?.how ?? 'changed'} it:`;
}

function undo(tree: string, isOne: boolean): string {
  const changes = isOne ? 'the change unless the task needs it' : 'every change that the task does not need';
  return `The person who started the loop sees this list. Undo ${changes}; \`git show ${tree}:./FILE\` prints a file as it was at the start.`;
}

const PUT_BACK = 'Ralph put these protected files back. Do not change them:';
const PUT_BACK_ONE = 'Ralph put this protected file back. Do not change it:';

function restored({ restored: back, more, failed, moreFailed }: Restoration): readonly string[] {
  const names = back.map((path) => `- ${path}`);
  return [
    ...(back.length === 0
      ? []
      : ['', names.length === 1 && more === 0 ? PUT_BACK_ONE : PUT_BACK, ...names, ...moreItem(more)]),
    ...(failed.length === 0
      ? []
      : ['', `Ralph could not put back ${failuresOf({ restored: back, more, failed, moreFailed })}.`]),
  ];
}

function item(file: ChangedEvidence): string {
  const why = {
    prompt: 'the file of this prompt',
    protected: 'protected',
    check: 'used by a check',
    test: 'a test',
  } as const;
  const part = file.part === undefined ? '' : ` (${file.part})`;
  return `- ${file.path}${part}: ${file.how}, ${why[file.as]}`;
}

function moreItem(more: number): readonly string[] {
  return more === 0 ? [] : [`- and ${more} more`];
}
