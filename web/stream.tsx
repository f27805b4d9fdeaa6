import type { AgentEvent } from '../src/loops/loops.ts';
import type { Told } from '../src/loops/events.ts';
import { counted } from '../src/loop/counted.ts';
import { ProviderLines } from '../src/text/agent-lines.ts';
import { withoutMiddle } from '../src/text/without-middle.ts';
import { shown } from './shown.ts';

/** What an agent does: its words, and its tools folded. */
export function Stream({
  told,
  skipped,
  none,
}: {
  readonly told: readonly Told[];
  readonly skipped: number;
  /** What is said if there is nothing to show. */
  readonly none: string;
}) {
  const blocks = blocksOf(told);
  if (blocks.length === 0) return <p class="note">{none}</p>;
  return (
    <div class="stream">
      {skipped > 0 && <p class="note">{`${counted(skipped, 'earlier step')} not shown`}</p>}
      {blocks.map((block) => blockOf(block))}
    </div>
  );
}

type Block =
  | { readonly is: 'words'; readonly key: number; readonly of: string; text: string; readonly kind: string }
  | {
      readonly is: 'tool';
      readonly key: number;
      readonly name: string;
      readonly input: string;
      output: string | null;
      ok: boolean;
    };

function blockOf(block: Block) {
  if (block.is === 'words')
    return (
      <p key={block.key} class={block.kind}>
        {withoutMiddle(shown(block.text), MOST_CHARS)}
      </p>
    );
  const { name, input, output, ok } = block;
  return (
    <details key={block.key} class={ok ? 'tool' : 'tool failed'}>
      <summary>
        <b>{shown(name)}</b> {shown(input).slice(0, 200)}
        <span class="note">{output === null ? ' running' : ok ? '' : ' failed'}</span>
      </summary>
      <pre tabIndex={0}>
        {output === null ? 'no output yet' : withoutMiddle(shown(output), MOST_CHARS) || '(no output)'}
      </pre>
    </details>
  );
}

function blocksOf(told: readonly Told[]): readonly Block[] {
  const blocks: Block[] = [];
  const tools = new Map<string, Extract<Block, { is: 'tool' }>>();
  const provider = new ProviderLines();
  for (const [key, one] of told.entries()) {
    if (one.is === 'event' && one.event.type === 'iteration.started')
      blocks.push({ is: 'words', key, of: '', kind: 'heading', text: `iteration ${one.event.iteration}` });
    if (one.is !== 'agent') continue;
    const { event, run } = one;
    if (event.type === 'tool.start') {
      const { name, input, id } = event;
      const tool = { is: 'tool' as const, key, name, input, output: null, ok: true };
      tools.set(`${run} ${id}`, tool);
      blocks.push(tool);
    } else if (event.type === 'tool.end') {
      const tool = tools.get(`${run} ${event.id}`);
      if (tool !== undefined) Object.assign(tool, { output: event.output, ok: event.ok });
    } else for (const words of wordsOf(event, provider)) addWords(blocks, key, `${run} ${words.of}`, words);
  }
  return blocks.slice(-MOST_BLOCKS);
}

function addWords(
  blocks: Block[],
  key: number,
  of: string,
  { kind, text }: { readonly kind: string; readonly text: string },
): void {
  const last = blocks.at(-1);
  if (last?.is === 'words' && last.of === of && last.kind === kind) last.text += text;
  else if (text.trim() !== '') blocks.push({ is: 'words', key, of, kind, text });
}

interface Words {
  readonly of: string;
  readonly kind: 'said' | 'thought' | 'notice' | 'plain';
  readonly text: string;
}

function wordsOf(event: AgentEvent, provider: ProviderLines): readonly Words[] {
  switch (event.type) {
    case 'text':
      return event.isEcho === true ? [] : [{ of: event.message, kind: 'said', text: event.text }];
    case 'thought':
      return [{ of: 'thought', kind: 'thought', text: event.text }];
    case 'todo':
      return [
        {
          of: 'todo',
          kind: 'notice',
          text: event.items.map(({ text, status }) => `${MARKS[status]} ${text}\n`).join(''),
        },
      ];
    case 'result':
      return event.ok
        ? []
        : [{ of: 'result', kind: 'notice', text: event.error?.message ?? 'the run failed' }];
    case 'unknown':
      return event.isPlain ? [{ of: 'plain', kind: 'plain', text: `${event.line}\n` }] : [];
    case 'retry':
    case 'limit':
    case 'denied':
      return provider.lines(event).map((text) => ({ of: 'provider', kind: 'notice', text: `${text}\n` }));
    case 'tool.start':
    case 'tool.end':
    case 'progress':
      return [];
  }
}

const MARKS = { done: '[x]', active: '[>]', pending: '[ ]' } as const;

const MOST_CHARS = 20_000;
/** What a browser draws without a pause. */
const MOST_BLOCKS = 600;
