import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Tests of the command run the built one. `npm run types` checks the types, which takes longer than all the rest. */
export function setup(): void {
  const run = (command: string, ...args: readonly string[]): unknown =>
    execFileSync(command, args, { cwd: ROOT, stdio: 'inherit', timeout: 300_000 });
  run('node_modules/.bin/tsc', '-p', 'tsconfig.build.json', '--noCheck');
  run(process.execPath, 'scripts/bundle.mjs');
}
