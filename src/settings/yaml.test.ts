import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readYaml } from './yaml.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-yaml-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const read = (content: string) => {
  const path = join(folder, 'ralph.yaml');
  writeFileSync(path, content);
  return readYaml(path);
};

/** Lists of the list before, twice: the last one has 2 ** 40 items. */
const ALIASES = Array.from({ length: 41 }, (_, at) =>
  at === 0 ? 'i0: &i0 [x]\n' : `i${at}: &i${at} [*i${at - 1}, *i${at - 1}]\n`,
).join('');

describe('the configuration file of document 002', () => {
  it('S3.60 takes null and 0 for unlimited', () => {
    expect(read('ralph_loop:\n  max_iterations: 100\n  max_cost: 0\n  max_time: null\n')).toEqual({
      maxIterations: 100,
    });
  });

  it.each([
    ['ralph_loop:\n  max_iterations: 0\n', 'max_iterations must be a whole number from 1 to 100, got 0'],
    ['ralph_loop:\n  max_iterations: 101\n', 'max_iterations must be a whole number from 1 to 100, got 101'],
    ['ralph_loop:\n  max_cost: -1\n', 'max_cost must be an amount of dollars >= 0, got -1'],
    ['ralph_loop:\n  max_iteration: 3\n', '"ralph_loop.max_iteration" (did you mean max_iterations?)'],
    ['ralph_loop: 7\n', 'ralph_loop must be a mapping, got 7'],
    ['ralph_loop:\n  - [\n', 'ralph.yaml is not valid YAML'],
    ['ralph_loop:\n  model: { a: 1 }\n', 'ralph_loop.model must be the name of a model, got a mapping'],
    [`${ALIASES}ralph_loop:\n  checks: *i40\n`, 'ralph_loop.checks must be a list of commands, got a list'],
    [`# ${'x'.repeat(2 ** 20)}`, 'ralph.yaml: it is too long (maximum 1 MB)'],
  ])('S3.60 is refused: %j', (content, message) => {
    expect(() => read(content)).toThrow(message);
  });

  it.each(['/dev/zero', '/dev/null'])('is refused if it is a device: %s', (path) => {
    expect(() => readYaml(path)).toThrow('it is a device; name a regular file or a pipe');
  });
});
