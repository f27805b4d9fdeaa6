import { expect, it } from 'vitest';
import { placeText } from './commits.ts';

it.each([
  [[], 'main', ''],
  [['main'], 'main', ' on branch main'],
  [['main'], null, ' on branch main'],
  [['fix'], 'main', ' on branch fix; the loop started on branch main'],
  [['main', 'fix'], 'main', ' on branches main and fix; the loop started on branch main'],
  [['a', 'b', 'c'], null, ' on branches a, b and c'],
  [[null], 'main', ' on a detached HEAD; the loop started on branch main'],
  [['main', null], 'main', ' on branch main and a detached HEAD; the loop started on branch main'],
])('commits on %j of a loop that started on %s', (branches, start, text) => {
  expect(placeText(branches, start)).toBe(text);
});
