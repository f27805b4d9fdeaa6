/** What people read about the commits of a loop. */
import { counted } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { LoopReport } from '../loop/report.ts';
import type { EndRecord } from '../projections/end-record.ts';
import { brief } from './one-line.ts';

/** A commit, and the SCM tasks beside it. */
export function commitLines(
  { commit, done, error, subject, files, branch }: Extract<LoopEvent, { type: 'commit.made' }>,
  { startBranch }: LoopReport,
): readonly string[] {
  const about = subject === undefined ? '' : `: ${brief(subject)}`;
  const size = files === undefined ? '' : ` (${counted(files, 'file')})`;
  const place = branch === undefined ? '' : placeText([branch], startBranch);
  const what = commit === null ? [] : [`committed ${commit.slice(0, 7)}${about}${size}${place}`];
  const others = commit === null ? done : done.filter((task) => task.trim() !== 'commit');
  if (others.length > 0) what.push(`SCM tasks done: ${others.join(', ')}`);
  if (error !== null) return [...what, `SCM error: ${error}`];
  return done.length === 0 ? ['nothing to commit'] : what;
}

/** The rows of the final report, each with its label. */
export function commitRows(end: EndRecord): readonly (readonly [string, string])[] {
  return [
    ...(end.commits === 0 ? [] : [['commits', commitsText(end)] as const]),
    ...(end.commitError === null ? [] : [commitErrorRow(end.commitError)]),
  ];
}

/** Tells a commit that failed from a task after it, such as a push. */
function commitErrorRow(error: string): readonly [string, string] {
  const isCommitted = /^SCM task "(?!commit")|^[0-9a-f]{7} /.test(error);
  return [isCommitted ? 'SCM error' : 'uncommitted', error];
}

/** How many commits a loop has made, and where: `3 (last 1a2b3c4) on branches main and fix-tests`. */
export function commitsText({ commits, lastCommit, branches, startBranch }: EndRecord): string {
  const last = lastCommit === null ? '' : ` (last ${lastCommit.slice(0, 7)})`;
  return `${commits}${last}${placeText(branches, startBranch)}`;
}

/** Where a commit was made: ` on branch fix-tests`, and the branch of the start if it is another one. */
export function placeText(branches: readonly (string | null)[], startBranch: string | null): string {
  if (branches.length === 0) return '';
  const isElsewhere = startBranch !== null && branches.some((branch) => branch !== startBranch);
  return ` on ${namesText(branches)}${isElsewhere ? `; the loop started on ${branchText(startBranch)}` : ''}`;
}

function namesText(branches: readonly (string | null)[]): string {
  const named = branches.filter((branch) => branch !== null).map(brief);
  const [first = '', ...others] = named.length < branches.length ? [...named, branchText(null)] : named;
  const word = named.length === 0 ? '' : named.length === 1 ? 'branch ' : 'branches ';
  const end = others.pop();
  return `${word}${[first, ...others].join(', ')}${end === undefined ? '' : ` and ${end}`}`;
}

/** A branch as people read it; null for a detached HEAD. */
function branchText(branch: string | null): string {
  return branch === null ? 'a detached HEAD' : `branch ${brief(branch)}`;
}
