/**
 * What the runs of a loop have printed, and their prompts: pieces of files without secrets.
 *
 * 1. A piece is bytes of the file from a place on, as many as can be shown: it never begins or ends in the middle of a secret. Who
 *    asks for the next piece where one has ended gets the whole file without a gap and without a repeat, also while it is written.
 * 2. Only regular files in the loop's own folder are read.
 */
import { closeSync, fstatSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, namesIn, openRegular, readAll } from '../files/files.ts';
import { eventsIn } from '../journal/pages.ts';
import { anyOf, fits, object, oneOf, optional, rule, whole, type Rule } from '../loop/shape.ts';
import { maskOf } from '../home/mask.ts';
import type { LoopFolder } from '../home/home.ts';
import type { CheckResult } from '../loop/event.ts';
import { openRun } from '../loop/run.ts';
import { outputLines } from '../projections/check-output.ts';
import { endOfWait, watchUntil } from '../process/watch.ts';
import { UserError } from '../user-error.ts';
import type { Call } from './loops.ts';
import { readings } from './list.ts';

/** A run of a loop, in the order in which they were started. */
export interface RunOf {
  /** `7.2` for the second run of the seventh iteration. */
  readonly run: string;
  /** Null if the journal does not say so. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** Where its files are. */
  readonly folder: string;
  /** The logs of the checks after it. */
  readonly checks: readonly string[];
}

export type What = 'stdout' | 'stderr' | 'prompt' | { readonly check: string };

export interface Range {
  readonly from: number;
  /** About how many are wanted; a secret is not cut in two for it. */
  readonly bytes?: number;
}

export interface Chunk {
  /** Where the piece begins, which is earlier than was asked for if that is in the middle of a secret; and where the next one does. */
  readonly from: number;
  readonly next: number;
  /** How long the file is. */
  readonly size: number;
  /** The bytes as Base64. */
  readonly data: string;
  /** What comes after it: `more` at once, what is still to be printed, or nothing, because the run has ended. */
  readonly after: 'more' | 'open' | 'end';
}

const RUN = /^[1-9]\d{0,8}(?:\.[1-9]\d{0,8})?$/;
export const RUN_ID: Rule = rule(
  'the number of a run',
  (value) => typeof value === 'string' && RUN.test(value),
);
export const WHAT: Rule = anyOf('an output', [
  oneOf(['stdout', 'stderr', 'prompt']),
  object({
    check: rule(
      'the name of a log',
      (value) => typeof value === 'string' && /^[\w-][\w.-]{0,200}$/.test(value),
    ),
  }),
]);
export const RANGE: Rule = object({ from: whole(0), bytes: optional(whole(1)) });

/** The run that is meant: `7` and `0007` are the first one of the seventh iteration, `7.2` the second. */
export function runNamed(loop: string, runs: readonly RunOf[], word: string): RunOf {
  const nameOf = ({ folder }: RunOf): string => basename(folder);
  const wanted = word.replace(/^0+/, '').replace(/\.1$/, '');
  const found = runs.find((run) => nameOf(run).replace(/^0+/, '') === wanted);
  if (found !== undefined) return found;
  const known = runs.length === 0 ? '' : ` (runs: ${runs.map(nameOf).join(', ')})`;
  throw new UserError(`loop ${loop} has no run ${word}${known}`);
}

export function runsOf(folder: LoopFolder): readonly RunOf[] {
  const times = new Map<string, { startedAt: number | null; endedAt: number | null }>();
  try {
    for (const event of eventsIn(folder.journal)) {
      if (event.type === 'run.started') times.set(event.run, { startedAt: event.at, endedAt: null });
      if (event.type === 'run.ended')
        times.set(event.run, { startedAt: null, ...times.get(event.run), endedAt: event.at });
    }
  } catch {
    // Then the times before the damage count.
  }
  return namesIn(join(folder.path, 'runs'))
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap((name) => {
      const [iteration = '', number = '1'] = name.split('.');
      const run = `${Number(iteration)}.${number}`;
      if (!RUN.test(run)) return [];
      const { startedAt = null, endedAt = null } = times.get(run) ?? {};
      const checks = namesIn(join(folder.run(run), 'checks')).flatMap((log) =>
        log.endsWith('.log') ? [log.slice(0, -'.log'.length)] : [],
      );
      return [{ run, startedAt, endedAt, folder: folder.run(run), checks }];
    });
}

/** A piece, if there is one, or once there is: `wait` is for how long to wait for more of an output that is not complete. */
export async function chunkOf(
  folder: LoopFolder,
  run: string,
  what: What,
  range: Range,
  call: Call = {},
): Promise<Chunk> {
  if (!fits(RUN_ID, run) || !fits(WHAT, what)) throw new UserError(`${folder.name} has no such output`);
  const chunkNow = (): Chunk => presentChunk(folder, run, what, range, (call.wait ?? 0) === 0);
  const now = chunkNow();
  const until = endOfWait(call);
  if (isNews(now) || until.aborted) return now;
  const look = (): Chunk | null => {
    const chunk = chunkNow();
    return isNews(chunk) ? chunk : null;
  };
  // What it prints is in its own folder, its end in that of the loop.
  return (await watchUntil([folder.path, folder.run(run)], look, until)) ?? now;
}

function isNews({ data, after }: Chunk): boolean {
  return data !== '' || after !== 'open';
}

/** `isAll`: with the word at its end that may still become a key. */
function presentChunk(folder: LoopFolder, run: string, what: What, range: Range, isAll: boolean): Chunk {
  const ended = (): boolean => hasEnded(folder, run, what);
  const opened = openOutput(folder, run, what);
  if (opened === null) return { from: 0, next: 0, size: 0, data: '', after: ended() ? 'end' : 'open' };
  try {
    return chunkAt(opened, range, maskOf(folder), { ended, isAll });
  } finally {
    closeSync(opened);
  }
}

/** Null if there is no such file. */
export function openOutput(folder: LoopFolder, run: string, what: What): number | null {
  const parts = folder
    .run(run)
    .slice(folder.path.length + 1)
    .split('/');
  const [inner, name] = typeof what === 'string' ? [[], FILES[what]] : [['checks'], `${what.check}.log`];
  try {
    return below(folder.path, [...parts, ...inner], { make: false }, (path) =>
      openRegular(join(path, name), 'read'),
    );
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new UserError(`cannot read ${what === 'prompt' ? 'the prompt' : 'the output'} of run ${run}`, 3, {
      cause: error,
    });
  }
}

const FILES = { stdout: 'stdout.log', stderr: 'stderr.log', prompt: 'prompt.md' } as const;

function chunkAt(
  descriptor: number,
  { from, bytes = MOST_BYTES }: Range,
  mask: ReturnType<typeof maskOf>,
  { ended, isAll }: { readonly ended: () => boolean; readonly isAll: boolean },
): Chunk {
  for (let length = Math.min(bytes, MOST_BYTES); ; length *= 2) {
    const { size } = fstatSync(descriptor);
    if (from >= size)
      return { from: size, next: size, size, data: '', after: from <= size && ended() ? 'end' : 'open' };
    const start = Math.max(0, from - mask.longest);
    const content = readAll(descriptor, from - start + length, start);
    const isEnd = start + content.length >= size;
    // An output that has ended while it was read is longer by now.
    const isLast = isEnd && ended() && fstatSync(descriptor).size <= start + content.length;
    // Who does not wait gets the word, too, that may still become a key.
    const part = mask.between(content, from - start, isLast ? 'end' : isEnd && isAll ? 'pause' : 'middle');
    if (part.to > part.from || isEnd)
      return {
        from: start + part.from,
        next: start + part.to,
        size,
        data: part.shown.toString('base64'),
        after: isLast ? 'end' : isEnd ? 'open' : 'more',
      };
  }
}

const MOST_BYTES = 256 * 1024;

/** Whether nothing more is written to an output. */
export function hasEnded(folder: LoopFolder, run: string, what: What): boolean {
  const loop = readings.of(folder);
  if (loop === null) return true;
  const { state, report, owner } = loop;
  if (typeof what === 'string') return openRun(state)?.id !== run;
  const log = join(folder.run(run), 'checks', `${what.check}.log`);
  return (
    owner === null ||
    Number.parseInt(run, 10) < state.iteration ||
    report.checks.some(({ result }) => folder.log(result.log) === log)
  );
}

/** The failing tests or the last lines of what a failed check has printed, without secrets and cut to a size. */
export function checkLines(
  { workspace }: Pick<LoopFolder, 'workspace'>,
  { log }: Pick<CheckResult, 'log'>,
  size: { readonly lines: number; readonly chars: number },
  mask: Pick<ReturnType<typeof maskOf>, 'text'>,
): readonly string[] {
  return outputLines(resolve(workspace, log), size, (text) => mask.text(text));
}
