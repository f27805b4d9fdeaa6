/** The commands of an SCM task: where an agent in a sandbox can write, each runs in a view, and a push in none. */
import type { Policy } from '../loop/policy.ts';
import { enclosure, guarded, type Enclosure, type Repository } from '../git/git.ts';
import { gitPlaces } from '../sandbox/git-places.ts';
import type { ScmProgram } from './user-git.ts';

export interface Step {
  readonly argv: readonly [string, ...string[]];
  readonly view: Enclosure | null;
  /** Whether it runs outside where an agent in a sandbox can write. */
  readonly isOutside?: true;
}

/** `repository.env` is the environment of the task. */
export async function stepsOf(
  { command, isGit }: ScmProgram,
  args: readonly string[],
  repository: Repository,
): Promise<readonly Step[]> {
  const argv = [...command, ...args] as const;
  const view = isGit ? await enclosure(repository, repository.env) : null;
  if (view === null || args[0] !== 'push') return [{ argv, view }];
  // A push needs the user's keys, which no view has; so its hook runs before, without them.
  const remote = args.slice(1).find((word) => !word.startsWith('-')) ?? '';
  const [program, ...options] = command;
  return [
    { argv: ['/bin/sh', '-c', PRE_PUSH, 'pre-push', remote, program, ...options], view },
    { argv: guarded({ command }, [...PLAIN_PUSH, ...args], 'ralph'), view: null, isOutside: true },
  ];
}

/** Why git must not run outside of a view; null if it may. A hook may just have made another git folder for it. */
export async function problemOutside(repository: Repository): Promise<string | null> {
  const { common } = await gitPlaces({ ...repository, command: ['git'] });
  return common === null
    ? `the git folder of ${repository.folder} is not that of this working tree; look at its .git and at commondir in there`
    : null;
}

/** Calls the hook as git would for the branch that is checked out. */
const PRE_PUSH = `
remote=$1
shift
hook=$("$@" rev-parse --path-format=absolute --git-path hooks)/pre-push
[ -x "$hook" ] || exit 0
ref=$("$@" symbolic-ref --quiet HEAD) && new=$("$@" rev-parse --verify HEAD) || exit 0
branch=\${ref#refs/heads/}
for key in "branch.$branch.pushRemote" remote.pushDefault "branch.$branch.remote"; do
  [ -n "$remote" ] || remote=$("$@" config --get "$key")
done
remote=\${remote:-origin}
url=$("$@" remote get-url --push "$remote" 2>/dev/null) || url=$remote
old=$("$@" rev-parse --quiet --verify "refs/remotes/$remote/$branch") || old=$(printf %s "$new" | tr 0-9a-f 0)
echo "$ref $new $ref $old" | "$hook" "$remote" "$url"
`;

/** A push that signs nothing, enters no submodule and starts no maintenance. */
const PLAIN_PUSH: readonly string[] = [
  'push.gpgSign=false',
  'push.recurseSubmodules=no',
  'gc.auto=0',
  'maintenance.auto=false',
].flatMap((setting) => ['-c', setting]);

/** What to do if a hook could not write; empty if that was not the reason. */
export function remedyInView(output: string, { sandbox }: Pick<Policy, 'sandbox'>): string {
  if (!/Read-only file system|EROFS/.test(output)) return '';
  return sandbox === null
    ? '; a sandboxed loop works in this repository, so its hooks run in a sandbox and may write no more than the agent of that loop: to let them, add the folder to sandbox.write and start that loop again'
    : '; its hooks run in the sandbox and may write no more than the agent: to let them, add the folder to sandbox.write';
}
