import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nameFrom, problemWithName } from './names.ts';
import { register, registered, unregister } from './registry.ts';
import { forget, keep, kept } from './kept-environment.ts';
import { readSpec, writeSpec, type Spec } from './spec.ts';
import { secretIn } from './secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-registry-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the registry', () => {
  it('lists the loops of all workspaces until they are removed', () => {
    const loop = (id: string) => ({
      id,
      name: id,
      workspace: `/w/${id}`,
      folder: `/w/${id}/.ralph/loops/${id}`,
    });
    expect(registered(folder)).toEqual([]);
    register(loop('a'), folder);
    register(loop('b'), folder);
    register(loop('a'), folder);
    expect(registered(folder).toSorted((x, y) => x.id.localeCompare(y.id))).toEqual([loop('a'), loop('b')]);
    unregister('a', folder);
    expect(registered(folder)).toEqual([loop('b')]);
  });

  it("keeps the starter's environment readable for this user only, until it is forgotten", () => {
    const secrets = { env: { TOKEN: 'x' }, argv: ['agent', '--key', 'y'] };
    keep('a', secrets, folder);
    expect(kept('a', folder)).toEqual(secrets);
    expect(statSync(join(folder, 'kept', 'a.json')).mode & 0o777).toBe(0o600);
    forget('a', folder);
    expect(kept('a', folder)).toBeNull();
  });
});

describe('the spec', () => {
  const spec: Spec = {
    version: 1,
    id: 'a-1',
    name: 'a',
    workspace: '/w',
    created: 'now',
    agent: { kind: 'custom', argv: [] },
    prompt: { text: 'do it' },
    parent: null,
  };
  const written = (argv: readonly string[], env: Record<string, string> = {}): readonly string[] => {
    const path = join(folder, 'spec.json');
    writeSpec(path, { ...spec, agent: { kind: 'custom', argv } }, env);
    return readSpec(path).agent.argv;
  };

  it('masks arguments that look like a secret or are one in the environment, and nothing else', () => {
    expect(written(['claude', '-p', '--max-tokens', '500', '--model', 'opus'])).toEqual([
      'claude',
      '-p',
      '--max-tokens',
      '500',
      '--model',
      'opus',
    ]);
    expect(written(['a', '--api-key', 'abc', '--token=xyz', 'sk-ant-0123456789abcdef'])).toEqual([
      'a',
      '--api-key',
      '<redacted>',
      '--token=<redacted>',
      '<redacted>',
    ]);
    const env = { MY_SECRET: 'correct horse', PATH: '/usr/bin:/bin' };
    expect(written(['a', 'Bearer correct horse', '/usr/bin:/bin'], env)).toEqual([
      'a',
      '<redacted>',
      '/usr/bin:/bin',
    ]);
    expect(readFileSync(join(folder, 'spec.json'), 'utf8')).not.toContain('correct horse');
  });

  it('finds the variable whose value a text contains', () => {
    expect(secretIn('curl -H "x: hunter22222"', { PASSWORD: 'hunter22222' })).toBe('PASSWORD');
    expect(secretIn('curl -H "x: $PASSWORD"', { PASSWORD: 'hunter22222' })).toBeNull();
  });
});

describe('a name', () => {
  it.each(['../x', '', '.hidden', 'a/b', 'a b', '-x', 'x'.repeat(65), 'ä'])('cannot be %j', (name) => {
    expect(problemWithName(name)).not.toBeNull();
  });
  it.each(['a', 'fix-parser-1', 'A.b_c', '7'])('can be %j', (name) => {
    expect(problemWithName(name)).toBeNull();
  });
  it('is made from the words of a prompt', () => {
    expect(nameFrom('Fix the parser, please, and more')).toBe('fix-the-parser-please');
    expect(nameFrom('???')).toBe('loop');
    expect(nameFrom(`${'x'.repeat(29)} y`)).toBe('x'.repeat(29));
    expect(problemWithName(`${nameFrom('../../etc')}-1`)).toBeNull();
  });
});
