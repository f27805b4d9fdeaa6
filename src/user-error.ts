import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';

/** An error that the user can fix; its message says what is wrong and what to do. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = 2, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UserError';
    this.exitCode = exitCode;
  }
}

/** The reason of a system error in plain words. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('reason' in error && typeof error.reason === 'string') return error.reason;
  const code = 'code' in error ? String(error.code) : '';
  return REASONS[code === 'ENOENT' ? (unwritableFolder(error) ?? code) : code] ?? error.message;
}

/**
 * What failed and why, for an error of the operating system: `cannot write PATH: …`, `cannot start git: …`. A path that is
 * given replaces the one in the error.
 */
export function systemErrorText(error: Error, path: string | null): string {
  const named = pathOf(error) ?? 'a file';
  const isStart = 'syscall' in error && String(error.syscall).startsWith('spawn');
  return `cannot ${isStart ? `start ${named}` : `write ${path ?? named}`}: ${reasonOf(error)}`;
}

/** Where an operation failed, if the error says so: a copy fails at its destination. */
export function pathOf(error: Error): string | null {
  if ('dest' in error && typeof error.dest === 'string') return error.dest;
  return 'path' in error && typeof error.path === 'string' ? error.path : null;
}

/** 3 if the machine lacks something (space, file descriptors, memory), 2 if the user can name another place. */
export function exitCodeFor({ code }: { readonly code: unknown }): 2 | 3 {
  return EXHAUSTED.has(String(code)) ? 3 : 2;
}

const EXHAUSTED: ReadonlySet<string> = new Set([
  'ENOSPC',
  'EDQUOT',
  'EMFILE',
  'ENFILE',
  'ENOMEM',
  'EAGAIN',
  'EIO',
]);

/** Node reports ENOENT for a folder that cannot be created, whatever the reason. Returns the true code, or null. */
function unwritableFolder(error: Error): string | null {
  if (!('syscall' in error) || error.syscall !== 'mkdir') return null;
  let folder = 'path' in error && typeof error.path === 'string' ? dirname(error.path) : '/';
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return null;
  } catch (refusal) {
    return refusal instanceof Error && 'code' in refusal ? String(refusal.code) : null;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'read-only file system',
  ENOSPC: 'no space left on the disk',
  EDQUOT: 'disk quota exceeded',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is not a folder',
  ENAMETOOLONG: 'name too long',
  EMFILE: 'too many open files; raise the limit with: ulimit -n 1024',
  ENFILE: 'too many open files in the whole system',
  ENOMEM: 'out of memory',
  EAGAIN: 'the system cannot start another process',
  EIO: 'the disk reports an input/output error',
};
