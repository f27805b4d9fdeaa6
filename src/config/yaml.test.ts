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
  ])('S3.60 is refused: %j', (content, message) => {
    expect(() => read(content)).toThrow(message);
  });
});
