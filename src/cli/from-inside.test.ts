import { describe, expect, it } from 'vitest';
import { FROM_INSIDE } from './from-inside.ts';
import { commandNames } from './program.ts';

describe('the table of what an agent can do with the commands', () => {
  it('has a row for every command of the parser', () => {
    const names = commandNames();
    expect(names).toContain('worktree merge');
    expect(names.filter((name) => FROM_INSIDE[name] === undefined)).toEqual([]);
  });
});
