import { expect, it } from 'vitest';
import { statusLine } from './status-line.ts';

const WAIT = ['usage limit: 1h 6m left, until 07:42', 'iteration 1/10'];

it('shows the name, then the parts', () => {
  expect(statusLine('a', WAIT, 76)).toBe('a: usage limit: 1h 6m left, until 07:42 · iteration 1/10');
});

it('shortens a name of 64 characters, not the time that is left', () => {
  const line = statusLine('n'.repeat(64), WAIT, 76);
  expect(line).toMatch(/^n+…: usage limit: 1h 6m left, until 07:42 · iteration 1\/10$/);
  expect(line).toHaveLength(76);
});

it('cuts the least important part if even a short name leaves too little room', () => {
  expect(statusLine('fix-all-the-failing-1', WAIT, 50)).toBe(
    'fix-all-the…: usage limit: 1h 6m left, until 07:42',
  );
});

it('never is wider than the room', () => {
  for (const room of [0, 1, 17, 40]) expect(statusLine('name', WAIT, room).length).toBeLessThanOrEqual(room);
});
