/** What becomes of the paths of a loop when its workspace is moved. Paths outside of the workspace stay. */
import { isAbsolute, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { isInside } from '../files/files.ts';
import type { Policy } from '../loop/policy.ts';
import type { Spec } from './spec.ts';

/**
 * The spec of a loop whose workspace was moved. The same move can be done twice, if the first one was killed. `movedFile` says where
 * the file of the prompt is now.
 */
export function movedSpec(
  spec: Spec,
  from: string,
  to: string,
  movedFile: (path: string) => string = (path) => movedPath(path, from, to),
): Spec {
  const { agent, prompt, worktree, movedFrom = [] } = spec;
  const moved = (path: string): string => movedPath(path, from, to);
  return {
    ...spec,
    workspace: to,
    movedFrom: [...movedFrom.filter((folder) => folder !== from && folder !== to), from],
    agent: { ...agent, argv: agent.argv.map(moved) },
    prompt:
      'file' in prompt
        ? { ...prompt, file: movedFile(prompt.file) }
        : 'spec' in prompt
          ? { ...prompt, spec: movedFile(prompt.spec) }
          : prompt,
    ...(worktree === undefined
      ? {}
      : { worktree: { ...worktree, path: moved(worktree.path), folder: moved(worktree.folder) } }),
  };
}

/** The policy with the paths that it has now: the journal has those from before the move. Null if nothing has changed. */
export function movedPolicy(policy: Policy, { workspace, movedFrom = [] }: Spec): Policy | null {
  if (movedFrom.length === 0) return null;
  const { completion, sandbox } = policy;
  const moved = (path: string): string =>
    !isAbsolute(path) || isInside(workspace, path)
      ? path
      : movedFrom.reduce((place, from) => movedPath(place, from, workspace), path);
  const detectors = completion.detectors.map((detector) =>
    detector.kind === 'marker' ? { ...detector, file: moved(detector.file) } : detector,
  );
  const changed: Policy = {
    ...policy,
    completion: { ...completion, detectors },
    sandbox:
      sandbox === null
        ? null
        : { ...sandbox, write: sandbox.write.map(moved), hide: sandbox.hide.map(moved) },
  };
  return isDeepStrictEqual(changed, policy) ? null : changed;
}

/** A path that was in the old folder, or any other text as it is. */
export function movedPath(path: string, from: string, to: string): string {
  return isAbsolute(path) && (path === from || isInside(from, path)) ? join(to, relative(from, path)) : path;
}
