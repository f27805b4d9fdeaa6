import type { Change } from './change.ts';

/** The difference of two texts as people know it from `diff -u`. */
export function diffText({ path, before, after }: Pick<Change, 'path' | 'before' | 'after'>): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const head = `--- ${before === null ? '/dev/null' : path}\n+++ ${after === null ? '/dev/null' : path}\n`;
  return (
    head +
    hunks(compared(old, now))
      .map((line) => `${line}\n`)
      .join('')
  );
}

function linesOf(text: string | null): readonly string[] {
  if (text === null || text === '') return [];
  const lines = text.split('\n');
  return lines.at(-1) === ''
    ? lines.slice(0, -1)
    : [...lines.slice(0, -1), `${lines.at(-1)} (no newline at the end)`];
}

/** All lines, each with ` `, `-` or `+` before it. */
function compared(old: readonly string[], now: readonly string[]): readonly string[] {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return [
    ...old.slice(0, start).map((line) => ` ${line}`),
    ...differing(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...old.slice(old.length - end).map((line) => ` ${line}`),
  ];
}

/** The shortest way from one to the other, by the longest common subsequence; without it for long texts. */
function differing(old: readonly string[], now: readonly string[]): readonly string[] {
  if (old.length * now.length > 4_000_000)
    return [...old.map((line) => `-${line}`), ...now.map((line) => `+${line}`)];
  const width = now.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      common[i * width + j] = old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    if (i < old.length && j < now.length && old[i] === now[j]) {
      lines.push(` ${old[i++]}`);
      j++;
    } else if (i < old.length && (j === now.length || at(i + 1, j) >= at(i, j + 1)))
      lines.push(`-${old[i++]}`);
    else lines.push(`+${now[j++]}`);
  }
  return lines;
}

/** Only the lines near a change; `@@` stands for those that are left out. */
function hunks(lines: readonly string[]): readonly string[] {
  const isNear = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(isChange),
  );
  return lines.flatMap((line, index) => {
    if (isNear[index] === true) return [line];
    return index === 0 || isNear[index - 1] === true ? ['@@'] : [];
  });
}

function isChange(line: string): boolean {
  return !line.startsWith(' ');
}

const CONTEXT = 3;
