import { expect, it } from 'vitest';
import { isTmuxName, nameFrom, problemWithName, projectId } from './names.ts';

it.each(['a', '7', 'fix-the-parser', 'v1.2_b', 'x'.repeat(64)])('a loop can be called %j', (name) => {
  expect(problemWithName(name)).toBeNull();
});

it.each([
  ['', 'it is empty'],
  ['x'.repeat(65), 'it has 65 characters; the maximum is 64'],
  ['..', 'it must start with a letter or digit'],
  ['a/b', 'it must start with a letter or digit'],
  ['-a', 'it must start with a letter or digit'],
  ['a\n', 'it must start with a letter or digit'],
])('a loop cannot be called %j', (name, problem) => {
  expect(problemWithName(name)).toContain(problem);
});

it('a name for tmux has no dot and no colon', () => {
  expect(['a-b_1', 'a.b', 'a:b', '-a'].map(isTmuxName)).toEqual([true, false, false, false]);
});

it.each([
  ['Fix the Parser, please, now', 'fix-the-parser-please'],
  ['Über café', 'uber-cafe'],
  [`${'x'.repeat(29)} word`, 'x'.repeat(29)],
  ['日本', 'loop'],
])('the name of a loop with the task %j begins with %j', (task, name) => {
  expect(nameFrom(task)).toBe(name);
});

it.each([
  ['/home/me/My Project', 'my-project'],
  ['/', 'project'],
])('the project of %j is %j', (workspace, id) => {
  expect(projectId(workspace)).toBe(id);
});
