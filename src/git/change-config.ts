/**
 * Changes the repository's configuration without replacing the file, as git would: a sandbox that runs meanwhile covers the file that
 * was there when it started, and its agent could write a new one.
 *
 * 1. The lock is git's own: another git that changes the configuration fails meanwhile.
 * 2. The lock says which process of Ralph made it. If that was killed, the next change removes it.
 * 3. At every moment the file is a valid configuration.
 */
import {
  closeSync,
  copyFileSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRegular, textOf } from '../files/files.ts';
import { createFile } from '../files/replace-file.ts';
import { processes } from '../process/process.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { commonFolder, execGit, GitError, gitFailure, type Repository } from './git.ts';
import { outside } from './links.ts';

/** `change` is what `git config` gets. */
export async function changeConfig(repository: Repository, change: readonly string[]): Promise<void> {
  const free = await outside(repository);
  const config = join(await commonFolder(free), 'config');
  const unlock = lock(`${config}.lock`);
  const scratch = mkdtempSync(join(tmpdir(), 'ralph-config-'));
  try {
    const copy = join(scratch, 'config');
    copyFileSync(config, copy);
    const args = ['config', '--file', copy, ...change];
    const answer = await execGit(free, args);
    // What is to be removed may be missing.
    if (answer.code !== 0 && !change[0]?.startsWith('--')) throw gitFailure(args, answer);
    overwrite(config, readFileSync(copy));
  } finally {
    unlock();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Line breaks cover the end of a longer text until it is cut off. */
function overwrite(path: string, text: Buffer): void {
  const file = openRegular(path, 'lock');
  try {
    const rest = Math.max(0, fstatSync(file).size - text.length);
    writeSync(file, Buffer.concat([text, Buffer.alloc(rest, '\n')]), 0, text.length + rest, 0);
    ftruncateSync(file, text.length);
  } finally {
    closeSync(file);
  }
}

function lock(path: string): () => void {
  if (isLeft(path)) rmSync(path, { force: true });
  if (!createFile(path, ownerText(process.pid)))
    throw new GitError(
      `${path} is locked by another git, or was left behind by one; if no git works there, remove it with: rm ${shellQuote(path)}`,
    );
  return () => rmSync(path, { force: true });
}

/** Whether a process of Ralph made the lock and has ended since. */
function isLeft(path: string): boolean {
  const text = textOf(path, MAX_BYTES) ?? '';
  const pid = /^\{"pid":(\d+),/.exec(text)?.[1];
  return pid !== undefined && ownerText(Number(pid)) !== text;
}

const MAX_BYTES = 1000;

/** Tells a process from a later one with the same pid. */
function ownerText(pid: number): string {
  const birth = processes.birth(pid);
  return JSON.stringify({ pid, ...(birth !== null && processes.lives(birth) ? birth : null) });
}
