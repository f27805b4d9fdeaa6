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
  const requests = await inSandbox();
  if (requests !== null && !worksInSandbox(args)) {
    const [{ runInSandbox }, { explainError }] = await Promise.all([
      import('./in-sandbox.ts'),
      import('./errors.ts'),
    ]);
    return runInSandbox(args, requests).catch(explainError);
  }
  const [command, name] = args;
  // A session waits for its hook after every turn.
  if (command === 'hook' && name !== undefined && HOOKS.has(name) && args.length === 2) {
    const { hookCommand } = await import('./hook.ts');
    return hookCommand(name);
  }
  const { runProgram } = await import('./program.ts');
  return runProgram(args);
}

const HOOKS: ReadonlySet<string> = new Set(['claude', 'codex', 'step']);

/** Whether the arguments mean the same as outside: the help, and the MCP server, whose tools call `ralph` again. */
function worksInSandbox(args: readonly string[]): boolean {
  return args[0] === 'mcp' || args.some((word) => word === '--help' || word === '-h');
}

/** The folder for requests if this is a sandbox. */
async function inSandbox(): Promise<string | null> {
  if ((process.env['RALPH_SANDBOX'] ?? '') === '') return null;
  const { sandboxRequests } = await import('./hall.ts');
  return sandboxRequests();
}
