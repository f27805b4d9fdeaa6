import { expect, it } from 'vitest';
import { StreamLines } from './stream-lines.ts';

const text = (words: string, message = 'm') => ({ type: 'text', message, text: words }) as const;

it('joins the words of an agent to lines, and folds what tools print', () => {
  const lines = new StreamLines();
  lines.add(text('I look '));
  lines.add(text('at it.\nThen'));
  lines.add({ type: 'tool.start', id: '1', name: 'Bash', input: 'npm test' });
  lines.add({ type: 'tool.end', id: '1', ok: true, output: 'two\nlines' });
  lines.add({ type: 'tool.start', id: '2', name: 'Read', input: 'a.ts' });
  lines.add({ type: 'tool.end', id: '2', ok: false, output: 'no such file' });
  const folded = ['I look at it.', 'Then', '> Bash(npm test)', '> Read(a.ts)'];
  expect(lines.lines(true).slice(0, 4)).toEqual(folded);
  expect(lines.lines(true).join('\n')).toContain('no such file');
  expect(lines.lines(true).join('\n')).not.toContain('two');
  expect(lines.lines(false).join('\n')).toContain('two');
});

it('shows what would control a terminal, or reorder a line, as text', () => {
  const lines = new StreamLines();
  lines.add(text('\u001B[2Jred\u001B[31m \u202Egnp\rx\n'));
  expect(lines.lines(true)).toEqual([expect.stringContaining('<U+202E>')]);
  // oxlint-disable-next-line no-control-regex -- what must not be there
  expect(lines.lines(true).join('')).not.toMatch(/[\u0000-\u001F]/);
});

it('keeps the last lines of a flood, and the beginning of a line of 10 MB', () => {
  const lines = new StreamLines();
  for (let number = 0; number < 20_000; number++) lines.add(text(`line ${number}\n`));
  lines.add(text(`${'x'.repeat(10_000_000)}\n`));
  const shown = lines.lines(true);
  expect(shown.length).toBeLessThan(7000);
  expect(shown.at(-2)).toBe('line 19999');
  expect(shown.at(-1)?.length).toBeLessThan(5000);
});
