/** Refuses a loop that signs its commits with a key that its sandbox hides: every commit would fail, hours later. */
import { join, resolve } from 'node:path';
import { execGit, type Repository } from '../git/git.ts';
import type { SandboxPolicy } from '../loop/policy.ts';
import { isHidden } from '../sandbox/git-view.ts';
import { UserError } from '../user-error.ts';

export async function refuseHiddenKey(
  repository: Repository,
  sandbox: SandboxPolicy | null,
  { isResumed }: { readonly isResumed: boolean },
): Promise<void> {
  const setting = async (...words: readonly string[]): Promise<string> =>
    (await execGit(repository, ['config', ...words])).stdout.toString('utf8').trim();
  if ((await setting('--type=bool', '--get', 'commit.gpgSign')) !== 'true') return;
  const { HOME: home = '/', GNUPGHOME } = repository.env;
  const isSsh = (await setting('--get', 'gpg.format')) === 'ssh';
  const named = isSsh ? await setting('--type=path', '--get', 'user.signingKey') : '';
  // A key that is given as text is asked for from an agent, which a sandbox hides like the keys.
  const ssh = /^(?:key::|ssh-)/.test(named) || named === '' ? join(home, '.ssh') : resolve(home, named);
  const place = isSsh ? ssh : (GNUPGHOME ?? join(home, '.gnupg'));
  if (!(await isHidden(sandbox, repository, place))) return;
  const remedy = isResumed
    ? 'switch that off in the repository (git config commit.gpgSign false), or start a new loop with other settings, since this one keeps those that it has'
    : `do not sign those of loops (in the settings: "scm": { "command": "git -c commit.gpgSign=false" }), or add ${place} to sandbox.write, where the agent can use it too`;
  throw new UserError(
    `commits are signed here (commit.gpgSign), and the sandbox hides the key (${place}): ${remedy}`,
  );
}
