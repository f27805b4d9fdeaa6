import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nameFrom, problemWithName } from '../loop/names.ts';
import { registered, registeredAs, registeredIn, reserve, unreserve } from './registry.ts';
import { forgetEnvironment, saveEnvironment, savedEnvironment } from './saved-environment.ts';
import { readSpec, writeSpec, type Spec } from './spec.ts';
import { secretIn } from '../loop/secrets.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-registry-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the registry', () => {
  const loop = (name: string, id = `${name}-1`, workspace = '/w') => ({ id, name, workspace });

  it('lists the loops of all workspaces until they are removed', () => {
    const [a, b, c] = [loop('a'), loop('b'), loop('a', 'a-2', '/v')];
    expect(registered(folder)).toEqual([]);
    for (const one of [a, b, c]) expect(reserve(one, folder)).toBe(true);
    expect(registered(folder)).toEqual([c, a, b]);
    expect(registeredIn('/w', folder)).toEqual([a, b]);
    unreserve(a, folder);
    expect(registered(folder)).toEqual([c, b]);
    expect(registeredAs('/w', 'a', folder)).toBeNull();
    expect(registeredAs('/v', 'a', folder)).toEqual(c);
  });

  it('gives a name to one loop only, and takes it back from that loop only', () => {
    expect(reserve(loop('a'), folder)).toBe(true);
    expect(reserve(loop('a', 'a-2'), folder)).toBe(false);
    unreserve(loop('a', 'a-2'), folder);
    expect(registeredAs('/w', 'a', folder)).toEqual(loop('a'));
  });

  it('is readable for this user only', () => {
    reserve(loop('a'), folder);
    const [hash = ''] = readdirSync(join(folder, 'registry'));
    const mode = (...path: string[]): number => statSync(join(folder, 'registry', ...path)).mode & 0o777;
    expect([mode(), mode(hash), mode(hash, 'a')]).toEqual([0o700, 0o700, 0o600]);
  });

  it('ignores an entry that is no entry, and never leaves its folder', () => {
    reserve(loop('a'), folder);
    const [hash = ''] = readdirSync(join(folder, 'registry'));
    const write = (name: string, value: unknown): void =>
      writeFileSync(join(folder, 'registry', hash, name), JSON.stringify(value));
    write('b', { id: '../../x', name: 'b', workspace: '/w' });
    write('c', ['a']);
    write('d', { id: 'd-1', name: 'd' });
    symlinkSync(join(folder, 'registry', hash, 'a'), join(folder, 'registry', hash, 'e'));
    expect(registeredIn('/w', folder)).toEqual([loop('a')]);
    expect(registeredAs('/w', '../../x', folder)).toBeNull();
  });

  it("keeps the starter's environment readable for this user only, until it is forgotten", () => {
    const secrets = { env: { TOKEN: 'x' }, argv: ['agent', '--key', 'y'], umask: 0o22 };
    saveEnvironment('a', secrets, folder);
    expect(savedEnvironment('a', folder)).toEqual(secrets);
    expect(statSync(join(folder, 'kept', 'a.json')).mode & 0o777).toBe(0o600);
    forgetEnvironment('a', folder);
    expect(savedEnvironment('a', folder)).toBeNull();
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
    expect(nameFrom('Réparer l’épreuve')).toBe('reparer-l-epreuve');
    expect(nameFrom(`${'x'.repeat(29)} y`)).toBe('x'.repeat(29));
    expect(problemWithName(`${nameFrom('../../etc')}-1`)).toBeNull();
  });
});
