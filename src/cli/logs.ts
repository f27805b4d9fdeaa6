import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { runsOf, followRun } from '../compose/follow-run.ts';
import { UserError } from '../user-error.ts';
import { Harmless } from './terminal.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';
import { warn } from './print.ts';

interface LogsOptions {
  readonly follow?: boolean;
  readonly run?: string;
  readonly stderr?: boolean;
  readonly cwd?: string;
}

/** `ralph logs`: what the agent printed, of one run or as it comes. */
export async function logs(name: string, options: LogsOptions): Promise<number> {
  const loop = findLoop(workspaceOf(options), name);
  process.stdout.on('error', () => process.exit(0));
  const file = options.stderr === true ? 'stderr.log' : 'stdout.log';
  const runs = runsOf(loop.folder);
  const wanted =
    options.run === undefined ? runs.at(-1) : runs.find((run) => isRun(run.name, options.run ?? ''));
  if (options.run !== undefined && wanted === undefined) {
    const known = runs.map((run) => run.name).join(', ');
    throw new UserError(`"${name}" has no run ${options.run}${known === '' ? '' : ` (there are ${known})`}`);
  }
  if (options.follow === true && options.run === undefined) {
    await followRun(loop.folder, file, show);
    return 0;
  }
  if (wanted === undefined) {
    warn(`ralph: ${name} has not run an agent yet\n`);
    return 0;
  }
  print(`${wanted.path}/${file}`);
  return 0;
}

/** `7` and `0007` name the first run of the seventh iteration, `7.2` its second. */
function isRun(name: string, wanted: string): boolean {
  return name.replace(/^0+/, '') === wanted.replace(/^0+/, '').replace(/\.1$/, '');
}

const view = new Harmless();

/** As it was printed; on a terminal, without what would command it. */
function show(chunk: Buffer): void {
  process.stdout.write(process.stdout.isTTY ? view.read(chunk) : chunk);
}

function print(path: string): void {
  if (!existsSync(path)) return;
  const descriptor = openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
    show(Buffer.from(buffer.subarray(0, count)));
  }
  closeSync(descriptor);
}
