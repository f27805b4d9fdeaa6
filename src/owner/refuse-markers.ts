import { isAbsolute, join } from 'node:path';
import { isInside, realPath } from '../files/paths.ts';
import type { Policy } from '../loop/policy.ts';
import { UserError } from '../user-error.ts';

/**
 * Refuses marker files outside of the workspace, because Ralph moves a rejected marker. A relative path is in the loop's own
 * folder. Links on the way are resolved, so that a repository cannot lead out of the workspace with one.
 */
export function refuseMarkers({ completion }: Policy, workspace: string): void {
  const files = completion.detectors.flatMap((one) => (one.kind === 'marker' ? [one.file] : []));
  const { marker } = completion.handOver;
  for (const file of marker === null ? files : [...files, marker]) {
    const folder = realPath(workspace);
    const path = isAbsolute(file) ? realPath(file) : join(folder, file);
    if (!isInside(folder, path))
      throw new UserError(
        `${file} is outside of the workspace ${workspace}; a marker file (--done-file, doneFile) must be in the workspace`,
      );
  }
}
