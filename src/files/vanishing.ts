import { tmpdir } from 'node:os';

/** The first of these files that something else will delete: it is in a cache of npx or the like, or in a temporary folder. */
export function vanishing(paths: readonly string[]): string | null {
  return (
    paths.find((path) => CACHE.test(path) || TEMPORARY.some((folder) => path.startsWith(folder))) ?? null
  );
}

/** Of npx, pnpm and yarn, bun. */
const CACHE = /\/(?:_npx|dlx|dlx-[^/]+|bunx-[^/]+)\//;
const TEMPORARY: readonly string[] = [
  `${tmpdir()}/`,
  '/tmp/',
  '/var/tmp/',
  '/private/tmp/',
  '/run/',
  '/dev/shm/',
];
