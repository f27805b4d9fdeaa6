import type { EndRecord } from '../store/end-record.ts';
import { brief } from './brief.ts';

/** A branch as people read it; null for a detached HEAD. */
export function branchText(branch: string | null): string {
  return branch === null ? 'a detached HEAD' : `branch ${brief(branch)}`;
}

/** How many commits a loop has made, and where: `3 (last 1a2b3c4) on branch fix-tests`. */
export function commitsText({ commits, lastCommit, branches, startBranch }: EndRecord): string {
  const last = lastCommit === null ? '' : ` (last ${lastCommit.slice(0, 7)})`;
  const place = branches.length === 0 ? '' : ` on ${branches.map(branchText).join(', ')}`;
  const isElsewhere = startBranch !== null && branches.some((branch) => branch !== startBranch);
  return `${commits}${last}${place}${isElsewhere ? `; the loop started on ${branchText(startBranch)}` : ''}`;
}
