import { describe, expect, it } from 'vitest';
import { summarize } from './tool-input.ts';

const long = 'x'.repeat(100);

describe('the summary of a tool call', () => {
  it.each([
    ['Read', { file_path: `/${long}` }, `/${long}`],
    ['Write', { file_path: '/a', content: 'b' }, '/a'],
    ['Edit', { file_path: '/a', old_string: 'b' }, '/a'],
    ['Bash', { command: 'make test', description: 'tests' }, 'make test'],
    ['Bash', { description: 'tests' }, 'tests'],
    ['Bash', { command: long }, `${'x'.repeat(57)}...`],
    ['Glob', { pattern: long }, `${'x'.repeat(37)}...`],
    ['Grep', { pattern: 'a|b' }, 'a|b'],
    ['Task', { description: long }, `${'x'.repeat(37)}...`],
    ['WebFetch', { url: long }, `${'x'.repeat(47)}...`],
    ['WebSearch', { query: 'how' }, 'how'],
    ['read_file', { path: '/a' }, '/a'],
    ['write_file', { path: '/a' }, '/a'],
    ['edit_file', { path: '/a' }, '/a'],
    ['bash', { command: 'ls' }, 'ls'],
    ['run_command', { command: 'ls' }, 'ls'],
    ['glob', { pattern: '*.ts' }, '*.ts'],
    ['grep', { pattern: 'x' }, 'x'],
    ['search', { query: 'x' }, 'x'],
    ['Bash', { command: 'one\ntwo' }, 'one'],
    ['Bash', null, ''],
  ])('S2.110 %s is summarized in one line', (tool, input, expected) => {
    expect(summarize(tool, input)).toBe(expected);
  });
});
