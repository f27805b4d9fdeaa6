import { expect, it } from 'vitest';
import { diffText } from './diff-text.ts';

it('shows the changed lines of a text with three lines around them', () => {
  const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', ''].join('\n');
  const after = before.replace('e\n', 'E\ne2\n').replace('k\n', '');
  expect(diffText({ path: '/x', before, after })).toBe(
    '--- /x\n+++ /x\n@@\n b\n c\n d\n-e\n+E\n+e2\n f\n g\n h\n i\n j\n-k\n',
  );
});

it('shows a file that is created, one that is removed, and a missing newline', () => {
  expect(diffText({ path: '/x', before: null, after: 'a\n' })).toBe('--- /dev/null\n+++ /x\n+a\n');
  expect(diffText({ path: '/x', before: 'a', after: null })).toBe(
    '--- /x\n+++ /dev/null\n-a (no newline at the end)\n',
  );
});
