import type { EndRecord } from '../store/end-record.ts';
import { brief } from '../text/one-line.ts';

/** A branch as people read it; null for a detached HEAD. */
function branchText(branch: string | null): string {
  return branch === null ? 'a detached HEAD' : `branch ${brief(branch)}`;
}

/** Where a commit was made: ` on branch fix-tests`, and the branch of the start if it is another one. */
export function placeText(branches: readonly (string | null)[], startBranch: string | null): string {
  if (branches.length === 0) return '';
  const isElsewhere = startBranch !== null && branches.some((branch) => branch !== startBranch);
  return ` on ${namesText(branches)}${isElsewhere ? `; the loop started on ${branchText(startBranch)}` : ''}`;
}

/** How many commits a loop has made, and where: `3 (last 1a2b3c4) on branches main and fix-tests`. */
export function commitsText({ commits, lastCommit, branches, startBranch }: EndRecord): string {
  const last = lastCommit === null ? '' : ` (last ${lastCommit.slice(0, 7)})`;
  return `${commits}${last}${placeText(branches, startBranch)}`;
}

function namesText(branches: readonly (string | null)[]): string {
  const named = branches.filter((branch) => branch !== null).map(brief);
  const [first = '', ...others] = named.length < branches.length ? [...named, branchText(null)] : named;
  const word = named.length === 0 ? '' : named.length === 1 ? 'branch ' : 'branches ';
  const end = others.pop();
  return `${word}${[first, ...others].join(', ')}${end === undefined ? '' : ` and ${end}`}`;
}
