import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { maskOf } from '../store/mask.ts';
import { agentSink, followRun, runsOf, runTimes, type LogSink } from '../views/follow-run.ts';
import { UserError } from '../user-error.ts';
import { AgentLines } from './agent-lines.ts';
import { homely } from './homely.ts';
import { lineOptions } from './line-options.ts';
import type { ViewOptions } from './options.ts';
import { maskedEvent } from './masked-event.ts';
import { Outlet } from './outlet.ts';
import { findLoop } from './loops.ts';
import { workspaceOf } from './workspace.ts';
import { explainError } from './errors.ts';
import { cannotPrint, READER_IS_GONE, warn } from './print.ts';

interface LogsOptions extends ViewOptions {
  readonly follow?: boolean;
  readonly run?: string;
  readonly stderr?: boolean;
  readonly raw?: boolean;
  readonly cwd?: string;
}

/** `ralph logs`: prints what the agent said and did in one run, or follows the loop. */
export async function logs(name: string, options: LogsOptions): Promise<number> {
  const loop = findLoop(workspaceOf(options), name);
  process.stdout.on('error', leave);
  const file = options.stderr === true ? 'stderr.log' : 'stdout.log';
  const isRaw = options.raw === true || options.stderr === true;
  const mask = maskOf(loop.spec);
  let endedAt: number | null = null;
  // A run that has ended shows the time that it took, not the time until now.
  const lines = new AgentLines(lineOptions(options, process.stdout), () => endedAt ?? Date.now());
  const sinkFor = (path: string): LogSink => {
    const times = runTimes(loop, path);
    endedAt = times.endedAt;
    lines.begin(times.startedAt ?? undefined);
    const outlet = new Outlet(mask, process.stdout.isTTY);
    const show = (chunk: string | Buffer): void => void process.stdout.write(outlet.read(chunk));
    const read = isRaw
      ? null
      : agentSink(loop.spec.agent.kind, path, (event) => show(lines.all(maskedEvent(event, mask))));
    return {
      take: (chunk) => (read === null ? show(chunk) : read.take(chunk)),
      end() {
        read?.end();
        process.stdout.write(outlet.end());
      },
    };
  };
  const runs = runsOf(loop.folder);
  const { run: asked } = options;
  const wanted = asked === undefined ? runs.at(-1) : runs.find((run) => isRun(run.name, asked));
  if (asked !== undefined && wanted === undefined) {
    const known = runs.map((run) => run.name).join(', ');
    throw new UserError(`loop ${name} has no run ${asked}${runs.length === 0 ? '' : ` (runs: ${known})`}`);
  }
  if (options.follow === true && asked === undefined) {
    await followRun(loop.folder, file, sinkFor);
    return 0;
  }
  if (wanted === undefined) {
    warn(`ralph: loop ${name} has not run an agent yet\n`);
    return 0;
  }
  const path = join(wanted.path, file);
  print(path, sinkFor(wanted.path));
  // On stderr, so that the output can be piped, and only if it could be written.
  await new Promise<void>((resolve) => {
    process.stdout.write('', (error) => {
      if (error === undefined || error === null) warn(`ralph: this output is in ${homely(path)}\n`);
      resolve();
    });
  });
  return 0;
}

/** Exits at once if stdout takes nothing: what is left to print is lost anyway. */
function leave(error: NodeJS.ErrnoException): void {
  process.exit(READER_IS_GONE.has(error.code) ? 0 : explainError(cannotPrint(error)));
}

/** `7` and `0007` are the first run of the seventh iteration, `7.2` the second. */
function isRun(name: string, wanted: string): boolean {
  return name.replace(/^0+/, '') === wanted.replace(/^0+/, '').replace(/\.1$/, '');
}

function print(path: string, sink: LogSink): void {
  if (!existsSync(path)) return;
  const descriptor = openSync(path, 'r');
  const buffer = Buffer.allocUnsafe(256 * 1024);
  for (let count = readSync(descriptor, buffer); count > 0; count = readSync(descriptor, buffer)) {
    sink.take(Buffer.from(buffer.subarray(0, count)));
  }
  sink.end();
  closeSync(descriptor);
}
