/**
 * A repository whose configuration names a program wherever git accepts one. Every such program is a canary: it writes its
 * name to a file and does nothing else, so a test can tell which of them ran.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Makes an existing repository hostile; `git` runs in it, `folder` is for the canaries. */
export function makeHostile(
  git: (...args: readonly string[]) => string,
  { work, folder }: { readonly work: string; readonly folder: string },
): Canaries {
  const canaries = new Canaries(folder);
  for (const hook of HOOKS) canaries.add(`hooks/${hook}`);
  const set = (key: string, value: string): string => git('config', key, value);
  set('core.hooksPath', join(folder, 'hooks'));
  for (const key of PROGRAMS) set(key, canaries.add(key));
  for (const [key, value] of SWITCHES) set(key, value);
  set('hook.canary.command', canaries.add('hook.canary.command'));
  git('config', 'include.path', join(folder, 'included'));
  writeFileSync(join(folder, 'included'), `[core]\n\tfsmonitor = ${canaries.add('included')}\n`);
  writeFileSync(join(work, '.gitattributes'), '*.txt diff=canary merge=canary\n');
  makeNested(git, join(work, 'inner'), canaries);
  return canaries;
}

/** A repository inside of it, in its index like a submodule, with programs of its own. */
function makeNested(git: (...args: readonly string[]) => string, inner: string, canaries: Canaries): void {
  const inside = (...args: readonly string[]): string => git('-C', inner, ...args);
  mkdirSync(inner);
  inside('init', '--quiet');
  writeFileSync(join(inner, 'a'), '1\n');
  inside('add', '--all');
  inside('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'inner');
  writeFileSync(join(inner, '.gitattributes'), '* filter=nested\n');
  for (const key of ['core.fsmonitor', 'filter.nested.clean', 'filter.nested.smudge'])
    inside('config', key, canaries.add(`inner/${key}`, 'cat'));
  git('-c', 'core.hooksPath=/dev/null', '-c', 'core.fsmonitor=', 'add', 'inner');
  // Its time differs from the index of the nested repository, so git compares its content.
  writeFileSync(join(inner, 'a'), '2\n');
}

export class Canaries {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Creates a canary and returns its path. */
  add(name: string, then = ':'): string {
    const path = join(this.#folder, name.replaceAll(/[^\w/.-]/g, '-'));
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, `#!/bin/sh\necho '${name}' >>'${this.#log}'\n${then}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** The canaries that ran since the last call, each once. */
  take(): readonly string[] {
    if (!existsSync(this.#log)) return [];
    const names = readFileSync(this.#log, 'utf8').split('\n').slice(0, -1);
    rmSync(this.#log);
    return [...new Set(names)].toSorted();
  }

  get #log(): string {
    return join(this.#folder, 'ran');
  }
}

const HOOKS = [
  'applypatch-msg',
  'commit-msg',
  'fsmonitor-watchman',
  'post-checkout',
  'post-commit',
  'post-index-change',
  'post-merge',
  'post-rewrite',
  'pre-auto-gc',
  'pre-commit',
  'pre-merge-commit',
  'prepare-commit-msg',
  'reference-transaction',
];

const PROGRAMS = [
  'core.fsmonitor',
  'core.pager',
  'pager.diff',
  'pager.log',
  'pager.status',
  'core.editor',
  'sequence.editor',
  'core.askPass',
  'core.sshCommand',
  'core.gitProxy',
  'core.alternateRefsCommand',
  'credential.helper',
  'uploadpack.packObjectsHook',
  'gpg.program',
  'gpg.ssh.program',
  'gpg.x509.program',
  'diff.external',
  'diff.canary.command',
  'diff.canary.textconv',
  'merge.canary.driver',
  'interactive.diffFilter',
  'trailer.canary.command',
  'gc.recentObjectsHook',
  'alias.status',
  'alias.canary',
];

const SWITCHES: readonly (readonly [string, string])[] = [
  ['log.showSignature', 'true'],
  ['commit.gpgSign', 'true'],
  ['tag.gpgSign', 'true'],
  ['submodule.recurse', 'true'],
  ['status.submoduleSummary', 'true'],
  ['hook.canary.event', 'reference-transaction'],
];
