import { describe, expect, it } from 'vitest';
import type { AgentEvent } from '../agents/agent.ts';
import { AgentLines, ProviderLines, tokenCount, wholeDuration, type LineOptions } from './agent-lines.ts';

const options: LineOptions = {
  emoji: true,
  timestamps: false,
  maxLines: 3,
  maxChars: 120,
  verbose: false,
  paint: (_, text) => text,
};
const NOON = new Date(2026, 0, 1, 12, 0, 0).getTime();
const linesOf = (events: readonly AgentEvent[], more: Partial<LineOptions> = {}): readonly string[] => {
  const lines = new AgentLines({ ...options, ...more }, () => NOON);
  return events.flatMap((event) => lines.lines(event));
};
const start = (name: string, input: string): AgentEvent => ({ type: 'tool.start', id: '1', name, input });
const end = (output: string, ok = true): AgentEvent => ({ type: 'tool.end', id: '1', ok, output });

describe('the lines of a tool', () => {
  it('S2.83 S2.111 show its name and its input, cut at 80 characters', () => {
    expect(linesOf([start('Read', '/path/to/file.go')])).toEqual(['⏺ Read(/path/to/file.go)']);
    expect(linesOf([start('Bash', 'x'.repeat(100))])).toEqual([`⏺ Bash(${'x'.repeat(77)}...)`]);
    expect(linesOf([start('Read', 'a')], { emoji: false })).toEqual(['> Read(a)']);
  });

  it('S2.84 S2.114 show the size of its whole output, and the first lines of it', () => {
    const output = `${Array.from({ length: 44 }, (_, index) => `line ${index + 1}`).join('\n')}\n${'y'.repeat(848)}`;
    expect(linesOf([start('Read', 'f'), end(output)]).slice(1)).toEqual([
      `✅ Result ← Read (45 lines, ${output.length} chars)`,
      '  ⎿  line 1',
      '     line 2',
      '     line 3',
      '  ⎿  ... 42 more lines',
    ]);
    expect(linesOf([end('z'.repeat(200))], { maxChars: 20 })[1]).toBe(`  ⎿  ${'z'.repeat(17)}...`);
    expect(linesOf([end('a\nb\nc\nd')], { maxLines: 1 }).slice(1)).toEqual([
      '  ⎿  a',
      '  ⎿  ... 3 more lines',
    ]);
  });

  it('S2.111 mark a failed tool as an error, and leave out a result without output unless verbose', () => {
    expect(linesOf([start('Bash', 'x'), end('exit code 3', false)])[1]).toBe(
      '❌ Error ← Bash (1 line, 11 chars)',
    );
    expect(linesOf([start('Bash', 'x'), end('')])).toHaveLength(1);
    expect(linesOf([start('Bash', 'x'), end('')], { verbose: true })[1]).toBe('✅ Result ← Bash (no output)');
  });

  it('S2.87 S2.111 have text markers without emoji, and the time with timestamps', () => {
    expect(linesOf([start('Bash', 'x'), end('bad', false)], { emoji: false })).toEqual([
      '> Bash(x)',
      '[ERR] Error ← Bash (1 line, 3 chars)',
      '  |  bad',
    ]);
    expect(linesOf([end('ok')], { emoji: false })[0]).toMatch(/^\[OK\] Result/);
    expect(linesOf([start('Bash', 'x'), end('ok')], { timestamps: true })).toEqual([
      '[12:00:00] ⏺ Bash(x)',
      '[12:00:00] ✅ Result ← Bash (1 line, 2 chars)',
      '[12:00:00]   ⎿  ok',
    ]);
  });

  it('S1.33 have the date in the time where the lines of the loop have it', () => {
    const dated = new AgentLines({ ...options, timestamps: true }, () => NOON);
    dated.begin(undefined, { datedStamps: true, runEndWord: null });
    expect(dated.lines(start('Bash', 'x'))[0]).toMatch(/^\[2026-01-01 12:00:00\] /);
  });
});

describe('a run that an earlier owner began', () => {
  const result: AgentEvent = {
    type: 'result',
    ok: true,
    text: null,
    usage: null,
    session: null,
    error: null,
  };

  it('counts the time and the tools from its beginning', () => {
    const lines = new AgentLines(options, () => NOON);
    lines.begin(NOON - 4000);
    lines.recall(start('Bash', 'x'));
    expect(lines.lines(end('ok'))[0]).toBe('✅ Result ← Bash (1 line, 2 chars)');
    lines.recall(start('Bash', 'y'));
    lines.recall(end('bad', false));
    expect(lines.lines(result)).toEqual(['run ended (tools: 2, errors: 1, time: 4s)']);
  });

  it('keeps the names of the last hundred tools that have not ended', () => {
    const lines = new AgentLines(options, () => NOON);
    for (let id = 1; id <= 101; id++)
      lines.recall({ type: 'tool.start', id: String(id), name: `Tool ${id}`, input: '' });
    const heads = ['1', '2'].map((id) => lines.lines({ type: 'tool.end', id, ok: true, output: 'x' })[0]);
    expect(heads).toEqual(['✅ Result ← tool (1 line, 1 char)', '✅ Result ← Tool 2 (1 line, 1 char)']);
  });
});

describe('the todo list', () => {
  const items = [
    { text: 'Read the code', status: 'done', priority: 'medium' },
    { text: 'Write the fix', status: 'active', priority: 'high' },
    { text: 'Run the tests', status: 'pending', priority: null },
  ] as const;

  it('S2.85 S2.112 shows the status of every item and the progress', () => {
    expect(linesOf([{ type: 'todo', items }])).toEqual([
      '',
      '📋 Todo List',
      '  ✅ Read the code',
      '  🔄 Write the fix [high] ← ACTIVE',
      '  ⏸️ Run the tests',
      '  📊 Progress: 1/3 (33%) | 1 active, 1 pending',
    ]);
    expect(linesOf([{ type: 'todo', items }], { emoji: false })).toEqual([
      '',
      'Todo List',
      '  [x] Read the code',
      '  [>] Write the fix [high] ← ACTIVE',
      '  [ ] Run the tests',
      '  Progress: 1/3 (33%) | 1 active, 1 pending',
    ]);
    expect(linesOf([{ type: 'todo', items: [] }]).at(-1)).toContain('0/0 (0%)');
  });
});

describe('the result line', () => {
  const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const usage = {
    parts: [
      { model: 'a', tokens: { input: 300_000, output: 40_000, cacheRead: 800_000, cacheWrite: 50_000 } },
      { model: 'b', tokens: { input: 0, output: 5000, cacheRead: 50_000, cacheWrite: 0 } },
    ],
    costUsd: 5.76,
    isWholeSession: false,
  };
  const result = (ok: boolean, used: typeof usage | null = usage): AgentEvent => ({
    type: 'result',
    ok,
    text: null,
    usage: used,
    session: null,
    error: ok ? null : { kind: 'other', message: 'it broke\nbadly' },
  });

  it('S2.86 S2.113 shows cost, tokens, tools, errors and time', () => {
    let now = NOON;
    const lines = new AgentLines(options, () => now);
    lines.lines(start('Bash', 'x'));
    lines.lines(end('no', false));
    now += 367_000;
    expect(lines.lines(result(true))).toEqual([
      'run ended (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 1, errors: 1, time: 6m7s)',
    ]);
    lines.begin();
    expect(lines.lines(result(true, null))).toEqual(['run ended (tools: 0, errors: 0, time: 0s)']);
    const free = { parts: [{ model: 'a', tokens: NO_TOKENS }], costUsd: 0, isWholeSession: false };
    expect(lines.lines(result(true, free))).toEqual(['run ended (tools: 0, errors: 0, time: 0s)']);
    const uncached = { ...free, parts: [{ model: 'a', tokens: { ...NO_TOKENS, input: 2000 } }] };
    expect(lines.lines(result(true, uncached))[0]).toContain('tokens: 2K in / 0 out, ');
    expect(lines.lines(result(false))[0]).toMatch(/^❌ Failed: it broke \(cost: /);
  });

  it.each([
    [999, '999'],
    [1000, '1K'],
    [2500, '2K'],
    [3500, '4K'],
    [999_999, '1000K'],
    [1_234_567, '1.2M'],
  ])('S2.113 writes %d tokens as %s', (count, text) => expect(tokenCount(count)).toBe(text));

  it.each([
    [59, '59s'],
    [60, '1m'],
    [61, '1m1s'],
    [367, '6m7s'],
    [3661, '61m1s'],
  ])('S2.113 writes %d seconds as %s', (seconds, text) => expect(wholeDuration(seconds * 1000)).toBe(text));
});

describe("the agent's words", () => {
  const words = (events: readonly AgentEvent[], more: Partial<LineOptions> = {}): string => {
    const lines = new AgentLines({ ...options, ...more }, () => NOON);
    return events.map((event) => lines.words(event)).join('');
  };
  const text = (piece: string, message: string): AgentEvent => ({ type: 'text', text: piece, message });

  it('are printed as they arrive; a new message starts on a new line', () => {
    expect(
      words([text('Hel', '1'), text('lo', '1'), text('Next', '2'), text('\n', '2'), text('!', '3')]),
    ).toBe('Hello\nNext\n!');
    expect(words([text('a\nb', '1'), text('c\n', '1'), text('d', '1')], { timestamps: true })).toBe(
      '[12:00:00] a\n[12:00:00] bc\n[12:00:00] d',
    );
  });

  it('of another run start on a new line', () => {
    const lines = new AgentLines(options, () => NOON);
    expect(lines.words(text('unfinished', ''))).toBe('unfinished');
    lines.begin();
    expect(lines.words(text('next\n', ''))).toBe('\nnext\n');
    lines.begin();
    expect(lines.words(text('last', ''))).toBe('last');
  });

  it('include lines that are not JSON, and leave out unknown events', () => {
    expect(words([text('a', '1'), { type: 'unknown', line: 'plain', isPlain: true }])).toBe('a\nplain\n');
    expect(
      words([
        { type: 'unknown', line: '{}', isPlain: false },
        { type: 'thought', text: 'hm' },
      ]),
    ).toBe('');
    expect(linesOf([{ type: 'thought', text: 'hm\nso' }], { verbose: true })).toEqual(['hm', 'so']);
    expect(linesOf([{ type: 'thought', text: 'hm' }])).toEqual([]);
  });
});

type Kind = Extract<AgentEvent, { type: 'retry' }>['error']['kind'];
const retried = (attempt: number, kind: Kind, message: string): AgentEvent => ({
  type: 'retry',
  attempt,
  most: 10,
  waitMs: 2000,
  error: { kind, message },
});

it('prints the reason of a retry once per run', () => {
  const provider = new ProviderLines();
  const lines = (...events: readonly AgentEvent[]): readonly string[] =>
    events.flatMap((event) => provider.lines(event));
  expect(
    lines(
      retried(1, 'transient', '529 overloaded'),
      retried(2, 'transient', '529 overloaded'),
      retried(3, 'transient', 'connection reset'),
    ),
  ).toEqual([
    'provider unavailable (529 overloaded): retry 1 of 10 in 2s',
    'provider unavailable (same error): retry 2 of 10 in 2s',
    'provider unavailable (connection reset): retry 3 of 10 in 2s',
  ]);
  provider.begin();
  expect(lines(retried(1, 'transient', 'connection reset'))[0]).toContain('(connection reset)');
});

it('tells a rejection by the provider from an outage', () => {
  expect(new ProviderLines().lines(retried(1, 'authentication', '401 no such key'))).toEqual([
    'rejected by the provider (401 no such key): retry 1 of 10 in 2s',
  ]);
  expect(new ProviderLines().lines(retried(1, 'blocked', '403 Access Denied'))).toEqual([
    'provider unavailable (403 Access Denied): retry 1 of 10 in 2s',
  ]);
});
