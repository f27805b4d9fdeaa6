/** Something that the user can put right: one message that names the thing and what to do next. */
export class UserError extends Error {
  readonly exitCode: number;

  constructor(message: string, exitCode: number = 2, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UserError';
    this.exitCode = exitCode;
  }
}

/** The reason in a system error, in words: `no space left on device`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? error.message;
}

/** What nobody can put right on the command line: there is no room. */
export function isDiskFull(error: Error & { readonly code: unknown }): boolean {
  return error.code === 'ENOSPC' || error.code === 'EDQUOT';
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space is left on the disk',
  EDQUOT: 'the disk quota is used up',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENAMETOOLONG: 'the name is too long',
};
