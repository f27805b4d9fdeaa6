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
  return REASONS[code] ?? error.message;
}

/** Whether the disk or the quota is full, which is no mistake of the user's input. */
export function isDiskFull(error: Error & { readonly code: unknown }): boolean {
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
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
};
