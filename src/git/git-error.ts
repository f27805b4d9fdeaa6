/** A git command failed; the message is for people. */
export class GitError extends Error {}
