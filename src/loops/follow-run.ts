import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentEvent } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { inMessageRun } from '../agents/message-run.ts';
import { isEnlisted } from '../store/background.ts';
import type { LoopFolder } from '../store/store.ts';
import { Tail } from '../process/tail.ts';
import { watchFolder } from '../process/watch.ts';
import { isMessageRun } from '../scm/commit-answer.ts';
import { readLoopAt } from '../store/read-loop.ts';

/** The runs of a loop, in order. */
export function runsOf(folder: LoopFolder): readonly { readonly name: string; readonly path: string }[] {
  const runs = join(folder.path, 'runs');
  if (!existsSync(runs)) return [];
  return readdirSync(runs)
    .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((name) => ({ name, path: join(runs, name) }));
}

/** Receives the output of one run. */
export interface LogSink {
  take(chunk: Buffer): void;
  end(): void;
}

/** Parses the output of one run into events; null if its agent prints plain text. */
export function agentSink(kind: string, path: string, show: (event: AgentEvent) => void): LogSink | null {
  const agent = agentNamed(kind);
  if (agent.name === 'custom') return null;
  const reads = isMessageRun(path) ? inMessageRun(agent) : agent;
  // The start only matters for when a usage limit resets, which the logs do not show.
  const parser = reads.read({ startedAt: 0, folder: path });
  return {
    take: (chunk) => parser.push(chunk).forEach(show),
    end: () => parser.end().forEach(show),
  };
}

/** Passes on the output of the last run and of those after it, until the loop ends or has no owner. */
export async function followRun(
  folder: LoopFolder,
  file: string,
  open: (path: string) => LogSink,
): Promise<void> {
  let current = runsOf(folder).at(-1)?.name ?? null;
  for (;;) {
    const path = current === null ? null : join(folder.path, 'runs', current, file);
    const sink = path === null ? null : open(join(path, '..'));
    const tail =
      path !== null && existsSync(path) ? new Tail(path, 0, (chunk) => sink?.take(Buffer.from(chunk))) : null;
    // oxlint-disable-next-line no-await-in-loop -- one run after the other
    const next = await nextRun(folder, current, () => tail?.look(), path);
    // oxlint-disable-next-line no-await-in-loop -- as above
    await tail?.close();
    sink?.end();
    if (next === null) return;
    current = next;
  }
}

/** Waits for the next run and returns its name; null if the loop ends before. */
function nextRun(
  folder: LoopFolder,
  current: string | null,
  look: () => void,
  path: string | null,
): Promise<string | null> {
  return new Promise((resolve) => {
    const finish = (next: string | null): void => {
      for (const stop of watches) stop();
      resolve(next);
    };
    const check = (): void => {
      look();
      const names = runsOf(folder).map(({ name }) => name);
      const next = names[current === null ? 0 : names.indexOf(current) + 1];
      if (next !== undefined && existsSync(join(folder.path, 'runs', next, 'stdout.log')))
        return finish(next);
      const loop = readLoopAt(folder);
      if (loop === null || loop.state.outcome !== null) return finish(null);
      if (loop.owner === null && !isEnlisted(folder.id)) finish(null);
    };
    const watches = [
      watchFolder(folder.path, check),
      ...(path === null ? [] : [watchFolder(join(path, '..'), look)]),
    ];
    setImmediate(check);
  });
}
