/**
 * Edits of a JSON text that leave the rest of it as it is, byte for byte.
 *
 * 1. `removed` takes back what `appended` wrote, also if entries were added around it meanwhile.
 * 2. New entries have the indentation and the line ends of the text; in a text of one line they are on that line.
 */
import type { Node } from 'jsonc-parser';

/** Adds a property to an object (with `key`) or an item to an array, as the last one. */
export function appended(text: string, container: Node, value: unknown, key?: string): string {
  const last = container.children?.at(-1);
  const isOnLine =
    last === undefined
      ? !text.trim().includes('\n') && text.trim() !== '{}'
      : !text.slice(container.offset, last.offset).includes('\n');
  const name = (space: string): string => (key === undefined ? '' : `${JSON.stringify(key)}:${space}`);
  if (isOnLine) {
    const space = /[:,] /.test(text) ? ' ' : '';
    const entry = name(space) + JSON.stringify(value);
    return last === undefined
      ? spliced(text, container.offset + 1, endOf(container) - 1, entry)
      : spliced(text, endOf(last), endOf(last), `,${space}${entry}`);
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const outer = indentAt(text, container.offset);
  const indent = last === undefined ? outer + unitOf(text) : indentAt(text, last.offset);
  const entry = eol + indent + name(' ') + written(text, value, indent);
  return last === undefined
    ? spliced(text, container.offset + 1, endOf(container) - 1, entry + eol + outer)
    : spliced(text, endOf(last), endOf(last), `,${entry}`);
}

/** Writes another value in the place of a node. */
export function replaced(text: string, node: Node, value: unknown): string {
  const isOnLine = !text.slice(node.offset, endOf(node)).includes('\n');
  const entry = isOnLine ? JSON.stringify(value) : written(text, value, indentAt(text, node.offset));
  return spliced(text, node.offset, endOf(node), entry);
}

/** Removes a property of an object or an item of an array. */
export function removed(text: string, node: Node): string {
  const container = node.parent;
  if (container === undefined) throw new TypeError('the whole text cannot be removed');
  const siblings = container.children ?? [];
  const index = siblings.indexOf(node);
  const [before, after] = [siblings[index - 1], siblings[index + 1]];
  if (before !== undefined) return spliced(text, endOf(before), endOf(node), '');
  if (after !== undefined) return spliced(text, node.offset, after.offset, '');
  return spliced(text, container.offset + 1, endOf(container) - 1, '');
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

function spliced(text: string, start: number, end: number, added: string): string {
  return text.slice(0, start) + added + text.slice(end);
}

/** A value over several lines, of which all but the first are indented. */
function written(text: string, value: unknown, indent: string): string {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', eol + indent);
}

/** The blanks at the start of the line of an offset. */
function indentAt(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

/** One level of indentation: that of the first indented line. */
function unitOf(text: string): string {
  return /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
}
