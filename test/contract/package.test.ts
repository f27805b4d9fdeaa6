import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface Locked {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

it('the lock file names every platform and no registry, so that `npm ci` works on any machine', () => {
  const text = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a file of a known tool, looked at in two places
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> };
  const entries = Object.values(packages);
  expect(entries.filter(({ resolved }) => resolved !== undefined)).toEqual([]);
  const optional = entries.flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
  expect(optional.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
});
