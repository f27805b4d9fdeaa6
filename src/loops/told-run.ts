/** What a run has printed, piece by piece as a person reads it. */
import type { AgentLines } from '../text/agent-lines.ts';
import type { Mark } from './events.ts';
import type { Call, Loops, LoopView } from './loops.ts';

/** An output of a run. */
export interface ReadRun {
  readonly loop: Pick<LoopView, 'id' | 'name' | 'workspace' | 'spec'>;
  readonly run: string;
  readonly what: 'stdout' | 'stderr';
  /** Null for stdout as it was printed, too. */
  readonly lines: AgentLines | null;
}

/** Tells what the agent said and did; null if the output is shown as it was printed, such as the plain text of an unknown command. */
export function linesOf({ loop, what, lines }: ReadRun): AgentLines | null {
  return what === 'stderr' || (loop.spec?.agent.kind ?? 'custom') === 'custom' ? null : lines;
}

export interface Piece {
  readonly shown: string | Buffer;
  readonly next: number | Mark;
  /** What comes after it: `more` at once, what is still to be printed, or nothing. */
  readonly after: 'more' | 'open' | 'end';
}

/** The next piece; `from` is where the one before ended, null for the first one. */
export async function nextPiece(
  loops: Pick<Loops, 'events' | 'output'>,
  part: ReadRun,
  from: Piece['next'] | null,
  call?: Call,
): Promise<Piece> {
  const { loop, run, what } = part;
  const lines = linesOf(part);
  if (lines === null) {
    const place = typeof from === 'number' ? from : 0;
    const chunk = await loops.output(loop, run, what, { from: place }, call);
    const { data, next, after } = chunk;
    // The rest of what has become a secret meanwhile is not shown.
    return { shown: Buffer.from(chunk.from === place ? data : '', 'base64'), next, after };
  }
  const asked = { from: typeof from === 'number' ? null : from, run };
  const { told, next, after } = await loops.events(loop, asked, call);
  const shown = told.map((one) => (one.is === 'agent' ? lines.all(one.event) : '')).join('');
  return { shown, next, after: after === 'driven' ? 'open' : after === 'rest' ? 'end' : 'more' };
}

/** All pieces, as far as they go now. */
export async function* piecesOf(
  loops: Pick<Loops, 'events' | 'output'>,
  part: ReadRun,
): AsyncGenerator<string | Buffer, void, void> {
  for (let from: Piece['next'] | null = null; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    const piece: Piece = await nextPiece(loops, part, from);
    yield piece.shown;
    if (piece.after !== 'more') break;
    from = piece.next;
  }
  yield linesOf(part)?.endLine() ?? '';
}
