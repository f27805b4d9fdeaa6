import { agentSink } from '../loops/follow-loop.ts';
import type { Loops, LoopView } from '../loops/loops.ts';
import { piecesOf, runNamed } from '../loops/output.ts';
import { maskOf } from '../store/mask.ts';
import { AgentLines, maskedEvent } from '../text/agent-lines.ts';
import { LastLines } from '../text/last-lines.ts';
import { Outlet } from '../text/outlet.ts';

/** The last lines of what an agent said and did in one run, without secrets. */
export async function logText(
  loops: Loops,
  loop: LoopView,
  { run: word, lines, what }: LogPart,
): Promise<string> {
  const runs = await loops.runs(loop);
  const run = word === null ? runs.at(-1) : runNamed(loop.name, runs, word);
  if (run === undefined) return `loop ${loop.name} has not run an agent yet`;
  const last = new LastLines(lines);
  const mask = maskOf(loop);
  const outlet = new Outlet(mask, { isTerminal: false, isJob: false });
  const show = (piece: string | Buffer): void => last.add(outlet.read(piece));
  const told = new AgentLines(PLAIN, () => run.endedAt ?? Date.now());
  told.begin(run.startedAt ?? undefined);
  const parser =
    what === 'stdout'
      ? agentSink(loop.spec?.agent.kind ?? 'custom', run.folder, (event) =>
          show(told.all(maskedEvent(event, mask))),
        )
      : null;
  for await (const piece of piecesOf(loops, loop, run.run, what)) {
    if (parser === null) show(piece);
    else parser.take(piece);
  }
  // The output of a run that has not ended is incomplete, which is no failure.
  if (parser !== null && run.endedAt !== null) parser.end();
  if (parser !== null) show(told.endLine());
  last.add(outlet.end());
  return last.take().toString('utf8').trimEnd();
}

interface LogPart {
  /** The number of an iteration, or of a run such as 7.2; null for the last one. */
  readonly run: string | null;
  readonly lines: number;
  readonly what: 'stdout' | 'stderr';
}

/** As in a pipe. */
const PLAIN = {
  emoji: false,
  timestamps: false,
  maxLines: 3,
  maxChars: 120,
  verbose: false,
  paint: (_: string, text: string): string => text,
} as const;
