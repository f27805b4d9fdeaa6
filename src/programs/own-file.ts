/** Files that Ralph writes for a host program: whole, with a line that says so. */
import { createHash } from 'node:crypto';

/** The text with a line that marks it as Ralph's; in front matter, as a comment there. */
export function marked(text: string, comment: '#' | '//'): string {
  const at = text.startsWith('---\n') ? '---\n'.length : 0;
  const line = `${comment} Written by "ralph hook install" (${digestOf(text)}); "ralph hook uninstall" removes it.\n`;
  return text.slice(0, at) + line + text.slice(at);
}

/** Whose a file is: written by Ralph, written by Ralph and edited since, or by others. */
export function authorOf(text: string): 'ralph' | 'edited' | 'other' {
  const found = MARK.exec(text);
  if (found === null) return 'other';
  const rest = text.slice(0, found.index) + text.slice(found.index + found[0].length);
  return digestOf(rest) === found[1] ? 'ralph' : 'edited';
}

const MARK = /^(?:#|\/\/) Written by "ralph hook install" \(([0-9a-f]{16})\).*\n/m;

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
