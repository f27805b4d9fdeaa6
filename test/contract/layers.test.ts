import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const source = new URL('../../src/', import.meta.url);
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
);
/** What the files of a folder import from outside of it, with how many there are. */
const outside = (folder: string) => {
  const inside = files.filter((file) => file.startsWith(`${folder}/`));
  const imports = inside.flatMap((file) =>
    [...readFileSync(new URL(file, source), 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(
      ([, path = '']) => path,
    ),
  );
  return {
    count: inside.length,
    imports: [...new Set(imports.filter((path) => !path.startsWith('./')))].toSorted(),
  };
};

// The linter holds these lines too; this test notices when its patterns stop matching.
describe('the layers', () => {
  it('loop/ imports nothing from outside itself', () => {
    const { count, imports } = outside('loop');
    expect(count).toBeGreaterThan(20);
    expect(imports).toEqual([]);
  });

  it('process/ knows the operating system only', () => {
    expect(outside('process').imports.filter((path) => !path.startsWith('node:'))).toEqual([]);
  });

  it.each(['journal', 'control'])('%s/ knows the core and the system, and no other adapter', (folder) => {
    expect(outside(folder).imports.filter((path) => !/^(node:|\.\.\/loop\/)/.test(path))).toEqual([]);
  });

  it.each(['hosts', 'agents', 'checks', 'git'])('%s/ knows the processes as well', (folder) => {
    const { count, imports } = outside(folder);
    expect(count).toBeGreaterThan(0);
    const brought = folder === 'agents' ? ['@pydantic/genai-prices'] : [];
    const known = (path: string): boolean =>
      /^(node:|\.\.\/(loop|process)\/)/.test(path) || brought.includes(path);
    expect(imports.filter((path) => !known(path))).toEqual([]);
  });

  it('engine/ knows the core and the ports, and brings nothing of its own', () => {
    const { count, imports } = outside('engine');
    expect(count).toBeGreaterThan(4);
    const ports = new Set(['agents/reader', 'hosts/host', 'journal/journal']);
    expect(imports.filter((path) => !path.startsWith('../loop/') && !ports.has(path.slice(3, -3)))).toEqual(
      [],
    );
  });

  it('config/ knows the core, and no adapter', () => {
    expect(
      outside('config').imports.filter(
        (path) => !/^(node:|zod$|js-yaml$|\.\.\/(loop\/|user-error\.ts))/.test(path),
      ),
    ).toEqual([]);
  });

  it('library/ talks to what composes a loop, to the shape of the settings and to the core', () => {
    const { count, imports } = outside('library');
    expect(count).toBeGreaterThan(6);
    const known =
      /^(node:|\.\.\/(compose\/|loop\/|config\/(closest|policy|settings|values)\.ts|agents\/agent\.ts|hosts\/function\.ts|user-error\.ts))/;
    expect(imports.filter((path) => !known.test(path))).toEqual([]);
  });

  it('cli/ talks to the library, to what composes it and to the settings', () => {
    const { imports } = outside('cli');
    expect(
      imports.filter(
        (path) =>
          !/^(node:|commander$|@clack\/prompts$|\.\.\/(compose\/|config\/|index\.ts|user-error\.ts))/.test(
            path,
          ),
      ),
    ).toEqual([]);
  });
});
