#!/usr/bin/env node
import { readFileSync, writeSync } from 'node:fs';

void main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    writeSync(2, `ralph: internal error: ${error instanceof Error ? error.stack : String(error)}\n`);
    process.exitCode = 3;
  },
);

/** Answers what needs no parser at once, and leaves the rest to it: start-up time is part of the product. */
async function main(args: readonly string[]): Promise<number> {
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-v')) {
    writeSync(1, `${version()}\n`);
    return 0;
  }
  if (process.platform === 'win32') {
    writeSync(
      2,
      'ralph: error: native Windows has no POSIX process groups and signals, which ralph needs to end every agent it starts\n' +
        'Run it inside WSL2 (https://learn.microsoft.com/windows/wsl/install).\n',
    );
    return 2;
  }
  // The question that is asked most often, by people and by their prompts, in its two plain forms.
  const [command, name] = args;
  if (command === 'status' && args.length <= 2 && name?.startsWith('-') !== true) {
    const [{ status }, { explainError }] = await Promise.all([import('./status.ts'), import('./errors.ts')]);
    try {
      return status(name ?? null, {});
    } catch (error) {
      return explainError(error);
    }
  }
  const { runProgram } = await import('./program.ts');
  return runProgram(args);
}

/** As the package says; `dev` where it does not. */
function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'dev';
}
