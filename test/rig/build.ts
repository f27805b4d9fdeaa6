import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Tests of the command run the built one. `npm run types` checks the types, which takes longer than all the rest. The gate has just
 * built the package, and says so.
 */
export function setup(): void {
  if (process.env['RALPH_TEST_BUILT'] === '1') return;
  const run = (command: string, ...args: readonly string[]): unknown =>
    execFileSync(command, args, { cwd: ROOT, stdio: 'inherit', timeout: 300_000 });
  run('node_modules/.bin/tsc', '-p', 'tsconfig.build.json', '--noCheck');
  run(process.execPath, 'scripts/bundle.mjs');
}
