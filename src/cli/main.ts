#!/usr/bin/env node
import { writeSync } from 'node:fs';

/** Resolves when the command has ended, for tests that load this file instead of starting it. */
export const ended: Promise<number> = main(process.argv.slice(2))
  .catch((error: unknown) => {
    writeSync(2, `ralph: internal error: ${error instanceof Error ? error.stack : String(error)}\n`);
    return 3;
  })
  .then((code) => (process.exitCode = code));

/** Handles `--version`, and the hooks that host programs call, without loading the parser, to start fast. */
async function main(args: readonly string[]): Promise<number> {
  if (args.length === 1 && (args[0] === '--version' || args[0] === '-v')) {
    try {
      const { version } = await import('./version.ts');
      writeSync(1, `${version()}\n`);
      return 0;
    } catch (error) {
      writeSync(2, `ralph: error: cannot write to stdout: ${error instanceof Error ? error.message : ''}\n`);
      return 3;
    }
  }
  if (process.platform === 'win32') {
    writeSync(
      2,
      'ralph: error: native Windows is not supported: ralph needs POSIX process groups and signals to stop agents\n' +
        'Run it in WSL2 (https://learn.microsoft.com/windows/wsl/install).\n',
    );
    return 2;
  }
  const [command, name = ''] = args;
  const isHook = command === 'hook' && /^(?:claude|codex|step)$/.test(name) && args.length === 2;
  // A session waits for its hook after every turn. In a sandbox the parser refuses it.
  if (isHook && (process.env['RALPH_SANDBOX'] ?? '') === '') {
    const { hookCommand } = await import('./hook.ts');
    return hookCommand(name);
  }
  const { runProgram } = await import('./program.ts');
  return runProgram(args);
}
