/** The names that loops, their projects and their windows can have. */
import { plainLetters } from './letters.ts';

/** Why a loop cannot have this name; null if it can. The name becomes a folder, so it must not be a path. */
export function problemWithName(name: string): string | null {
  if (name === '') return 'it is empty';
  if (name.length > MAX_NAME_LENGTH)
    return `it has ${name.length} characters; the maximum is ${MAX_NAME_LENGTH}`;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    return 'it must start with a letter or digit and contain only letters, digits, ".", "_" and "-"';
  }
  return null;
}

const MAX_NAME_LENGTH = 64;

/** Whether a session or a socket of tmux can have this name: `:` and `.` have a meaning there, and a socket is a file. */
export function isTmuxName(name: string): boolean {
  return /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/.test(name);
}

/** The first part of a generated name, from the words of the prompt: `fix-the-parser`. */
export function nameFrom(text: string): string {
  const words = plainLetters(text)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')
    .trim()
    .split(' ')
    .slice(0, 4)
    .join('-');
  return words.slice(0, 30).replace(/-+$/, '') || 'loop';
}

/** The id of the project that a workspace is, for document 000: the folder's name in lower-case letters, digits and `-`. */
export function projectId(workspace: string): string {
  const words = plainLetters(workspace.slice(workspace.lastIndexOf('/') + 1))
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');
  return words.replaceAll(/^-|-$/g, '') || 'project';
}
