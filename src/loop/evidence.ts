/**
 * The files that a verdict rests on: those that checks run, tests, what the user protects, and the file of the prompt. They
 * are compared with the start after every run, and before a claim is judged.
 */
import { openClaim } from './claim.ts';
import type { Effect } from './effect.ts';
import type { Evidence, Restoration, ChangedEvidence } from './event.ts';
import type { Policy } from './policy.ts';
import type { EvidenceFeedback, LoopState } from './state.ts';
import { withMore } from './counted.ts';

/** Compares the files with the start, and puts protected ones back where the policy says so. */
export function examineEvidence(state: LoopState): readonly Effect[] | undefined {
  const { policy, turn, start } = state;
  if (start === null || !isWatching(state)) return undefined;
  // Before a run nothing has changed since the last look, unless a run was cut short: only its claim is of interest.
  if (turn.run === null && openClaim(state) === null) return undefined;
  const key = `${turn.iteration}.${turn.runs}:${turn.run === null ? 'before' : 'after'}`;
  if (turn.evidence === null) return [{ type: 'examine', key: `examine:${key}`, start }];
  const isToRestore = policy.evidence.onProtectedChange === 'restore' && turn.evidence.protected > 0;
  if (!isToRestore || turn.restoration !== null) return undefined;
  return [{ type: 'restore', key: `restore:${key}`, start }];
}

/** Whether a loop compares files with its start. */
export function isWatching({ policy, start }: Pick<LoopState, 'policy' | 'start'>): boolean {
  if (start === null) return false;
  const hasPrompt = start.prompt !== undefined && policy.evidence.promptFile === 'always';
  return hasPrompt || hasEvidence(policy);
}

/** Whether a policy has files that the evidence rests on. A loop without checks has no evidence of its own. */
export function hasEvidence({ checks, evidence }: Policy): boolean {
  return checks.commands.length > 0 || evidence.protect.length > 0;
}

/** Why the evidence rejects a claim: the names of protected files that differ from the start; null if it does not. */
export function rejectingFiles({ policy, turn }: LoopState): readonly string[] | null {
  const { protect, onProtectedChange } = policy.evidence;
  const { evidence, restoration } = turn;
  if (evidence === null || protect.length === 0 || onProtectedChange === 'warn') return null;
  // What cannot be compared may have been changed.
  if (evidence.problem !== null) return [];
  if (restoration !== null)
    return restoration.failed.length === 0 ? null : restoration.failed.map(({ path }) => path);
  if (evidence.protected === 0) return null;
  return evidence.changed.filter(({ as }) => as === 'protected').map(({ path }) => path);
}

/** What the next prompt says; null if there is nothing to say. */
export function evidenceFeedback(
  found: Evidence | null,
  restoration: Restoration | null,
): EvidenceFeedback | null {
  if (found === null || (found.changed.length === 0 && found.problem === null)) return null;
  return { found, restoration };
}

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
