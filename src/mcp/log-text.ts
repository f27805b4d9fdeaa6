import type { LoopView, Loops } from '../loops/loops.ts';
import { runNamed } from '../loops/output.ts';
import { AgentLines } from '../text/agent-lines.ts';
import { piecesOf } from '../loops/told-run.ts';
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
  const outlet = new Outlet(null, { isTerminal: false, isJob: false });
  const agentLines = new AgentLines(PLAIN, () => run.endedAt ?? Date.now());
  agentLines.begin(run.startedAt ?? undefined, loop.state.policy.wording);
  const part = { loop, run: run.run, what, lines: agentLines };
  for await (const piece of piecesOf(loops, part)) last.add(outlet.read(piece));
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
