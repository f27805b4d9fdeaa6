import { notInSandbox } from '../loops/asked-start.ts';
import type { StartRequest } from '../loops/loops.ts';
import { statusText } from '../text/status.ts';
import { hall } from './hall.ts';
import type { RunOptions } from './options.ts';
import { print, printAsIs, printJson, readerHere, warn } from './print.ts';

/** Starts a child loop from inside a sandbox, and shows how it ends unless it is left in the background. */
export async function startChild(
  asked: StartRequest,
  { cwd, report, reportFile, dryRun, quiet, json }: RunOptions,
  isDetached: boolean,
): Promise<number> {
  const options = { '--cwd': cwd, '--report': report, '--report-file': reportFile, '--dry-run': dryRun };
  const given = Object.entries(options).flatMap(([option, value]) => (value === undefined ? [] : [option]));
  if (given.length > 0) throw notInSandbox(given);
  const loops = hall();
  const child = await loops.start(asked);
  const started = `started ${child.name} in the background\n`;
  if (isDetached) {
    if (json === true) printJson(child.summary, 2);
    else if (quiet !== true) print(started);
    return 0;
  }
  if (quiet !== true) warn(started);
  const rest = await loops.wait(child);
  if (rest.is !== 'resting') return 1;
  const { record } = rest.loop.summary;
  if (json === true) printJson(record);
  else printAsIs(`${statusText(rest.loop, readerHere())}\n`);
  return record.exitCode;
}
