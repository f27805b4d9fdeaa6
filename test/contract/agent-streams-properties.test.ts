/** Properties of every recorded stream, however it is split and whatever else is in it. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { casesOf, listen, RECORDED, recording, type Listening, type Recorded } from '../rig/agent-streams.ts';

interface Stream {
  readonly agent: Recorded;
  readonly name: string;
  readonly bytes: Buffer;
}
const STREAMS: readonly Stream[] = RECORDED.flatMap((agent) =>
  casesOf(agent).map((name) => ({ agent, name, bytes: recording(agent, name) })),
);
const anyStream = fc.constantFrom(...STREAMS).map((stream) => Object.assign(stream, { toString: titled }));
const STARTED = Date.UTC(2026, 10, 15, 7);

/** Makes a failure print the name of the recording instead of its content. */
function titled(this: Stream): string {
  return `${this.agent}/${this.name}`;
}

function split(bytes: Buffer, at: readonly number[]): readonly Buffer[] {
  const places = [
    0,
    ...at.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b),
    bytes.length,
  ];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** What noise must not change; it may add tools without a name, retries and unknown lines. */
const essence = ({ heard, reader }: Listening) => {
  const { text, todos, tokens, cost, limit, said, error, as } = heard;
  return { text, todos, tokens, cost, limit, said, error, as, isBusy: reader.hasOpenTool };
};

describe('every recording', () => {
  it('is read the same wherever it is split', () => {
    fc.assert(
      fc.property(anyStream, fc.array(fc.nat(), { maxLength: 20 }), ({ agent, bytes }, at) => {
        const whole = listen(agent, [bytes], { startedAt: STARTED });
        const pieces = listen(agent, split(bytes, at), { startedAt: STARTED });
        expect(pieces.snapshot).toEqual(whole.snapshot);
        expect(pieces.events).toEqual(whole.events);
      }),
      { numRuns: 400 },
    );
  });

  it('is read the same byte by byte', () => {
    for (const { agent, bytes } of STREAMS.filter(({ bytes: { length } }) => length < 1500)) {
      const bits = listen(
        agent,
        split(
          bytes,
          Array.from({ length: bytes.length }, (_, at) => at),
        ),
      );
      expect(bits.events).toEqual(listen(agent, [bytes]).events);
    }
  });

  it('is read the same with Windows line ends and without the last one', () => {
    for (const { agent, bytes } of STREAMS) {
      const { events, snapshot } = listen(agent, [bytes]);
      const windows = listen(agent, [Buffer.from(bytes.toString('utf8').replaceAll('\n', '\r\n'))]);
      expect(windows.events).toEqual(events);
      expect({ ...windows.snapshot, offset: 0 }).toEqual({ ...snapshot, offset: 0 });
      expect(listen(agent, [Buffer.from(bytes.toString('utf8').trimEnd())]).events).toEqual(events);
    }
  });

  it('means the same with noise between its lines', () => {
    fc.assert(
      fc.property(
        anyStream,
        fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 12 }),
        ({ agent, bytes }, inserts) => {
          const lines = bytes.toString('utf8').split('\n');
          const noise = noiseOf(agent);
          for (const [where, which] of inserts) {
            // Never after the last line: if that was cut off, the noise would become part of it.
            lines.splice(where % lines.length, 0, noise[which % noise.length] ?? '');
          }
          const noisy = listen(agent, [Buffer.from(lines.join('\n'))], { startedAt: STARTED });
          expect(essence(noisy)).toEqual(essence(listen(agent, [bytes], { startedAt: STARTED })));
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('means the same with all of the noise after every line', () => {
    for (const { agent, bytes } of STREAMS.filter(({ bytes: { length } }) => length < 4000)) {
      const noise = noiseOf(agent).join('\n');
      const noisy = bytes.toString('utf8').replaceAll('\n', `\n${noise}\n`);
      expect(essence(listen(agent, [Buffer.from(noisy)]))).toEqual(essence(listen(agent, [bytes])));
    }
  });

  it('does not succeed at any cut unless a complete line before it says so', () => {
    fc.assert(
      fc.property(anyStream, fc.nat(), ({ agent, bytes }, at) => {
        const beginning = bytes.subarray(0, at % (bytes.length + 1));
        const { said, as } = listen(agent, [beginning], { code: 0 }).heard;
        expect((said !== 'success' && as !== 'ok') || saysSuccess(agent, beginning)).toBe(true);
      }),
      { numRuns: 1500 },
    );
  });

  it('does not succeed before its last line', () => {
    for (const { agent, bytes } of STREAMS) {
      const lines = bytes.toString('utf8').trimEnd().split('\n').slice(0, -1);
      for (let length = 0; length <= lines.length; length++) {
        const beginning = Buffer.from(lines.slice(0, length).join('\n'));
        expect(listen(agent, [beginning], { code: 0 }).heard.as).not.toBe('ok');
      }
    }
  });
});

describe.each(RECORDED)('%s', (agent) => {
  it('reads binary junk as unknown lines', () => {
    let seed = 1;
    const junk = Buffer.from(
      Array.from({ length: 200_000 }, () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return (seed >> 16) & 255;
      }),
    );
    const lines = junk.toString('utf8').split('\n');
    const { heard, events } = listen(agent, split(junk, [7, 65_536, 131_072]), { code: 0 });
    expect(heard.unknown).toBe(lines.filter((line) => line.trim() !== '').length);
    expect(heard.unknown).toBeGreaterThan(500);
    expect(events.filter(({ type }) => type !== 'unknown')).toHaveLength(1);
    expect(heard.as).toBe('failure');
  });

  it('skips an unknown line of 10 MB quickly and continues', () => {
    const line = `${JSON.stringify({ type: 'never.heard.of', text: 'x'.repeat(10_000_000) })}\n`;
    const bytes = Buffer.concat([Buffer.from(line), recording(agent, '01-text-success')]);
    const began = performance.now();
    const { heard } = listen(
      agent,
      split(
        bytes,
        Array.from({ length: 160 }, (_, at) => at * 65_536),
      ),
    );
    expect(performance.now() - began).toBeLessThan(5000);
    expect(heard).toMatchObject({ unknown: 1, text: 'Hello from the script.', as: 'ok' });
  });
});

/** Whether a complete line of the stream reports success. */
function saysSuccess(agent: Recorded, bytes: Buffer): boolean {
  const lines = bytes.toString('utf8').split('\n');
  const records = lines.map(parse).filter((record) => record !== null);
  const last = records.at(-1) ?? {};
  switch (agent) {
    case 'amp':
    case 'claude':
    case 'qwen':
      return records.some(
        ({ type, subtype, is_error }) => type === 'result' && subtype === 'success' && is_error === false,
      );
    case 'codex':
      return records.some(({ type }) => type === 'turn.completed');
    case 'copilot':
      return records.some(({ type, exitCode }) => type === 'result' && exitCode === 0);
    case 'gemini':
      return records.some(({ type, status }) => type === 'result' && status === 'success');
    case 'opencode':
      // It has no result record: its last step stopped, nothing followed, and it was not compacting.
      return (
        last.type === 'step_finish' &&
        last.part?.reason === 'stop' &&
        !records.some(({ error }) => error?.name === 'ContextOverflowError')
      );
  }
}

interface Line {
  readonly type?: unknown;
  readonly subtype?: unknown;
  readonly is_error?: unknown;
  readonly exitCode?: unknown;
  readonly status?: unknown;
  readonly part?: { readonly reason?: unknown };
  readonly error?: { readonly name?: unknown };
}

function parse(line: string): Line | null {
  try {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- recorded, and only used in comparisons
    return JSON.parse(line) as Line;
  } catch {
    return null;
  }
}

/** The event types of each agent, without those whose type alone has a meaning. */
const TYPES: Readonly<Record<Recorded, readonly string[]>> = {
  amp: ['system', 'assistant', 'user', 'result'],
  claude: ['system', 'assistant', 'user', 'result', 'rate_limit_event', 'stream_event'],
  codex: ['thread.started', 'turn.started', 'item.started', 'item.updated', 'item.completed', 'error'],
  copilot: [
    'session.error',
    'session.info',
    'user.message',
    'assistant.message',
    'assistant.message_delta',
    'assistant.message_start',
    'assistant.reasoning',
    'assistant.turn_retry',
    'model.call_failure',
    'model.call_final_result',
    'tool.execution_start',
    'tool.execution_complete',
    'abort',
    'result',
  ],
  gemini: ['init', 'message', 'tool_use', 'tool_result', 'error', 'result'],
  opencode: ['step_start', 'text', 'reasoning', 'tool_use', 'step_finish', 'error'],
  qwen: ['system', 'assistant', 'user', 'result', 'stream_event'],
};

function noiseOf(agent: Recorded): readonly string[] {
  const typed = TYPES[agent].flatMap((type) => [
    { type },
    ...ODD.map((fields) => ({ type, ...fields })),
    ...['init', 'retry', 'api_retry', 'permission_denied', 'new'].map((subtype) =>
      type === 'result' ? { type, subtype: 7 } : { type, subtype },
    ),
  ]);
  const others = [null, [], [[]], [{}], 'words', 7, true, {}, { type: null }, { type: 7 }];
  const news = { type: 'brand.new', text: 'I am done.', content: 'Done.', usage: { input_tokens: 5 } };
  return [
    ...[...typed, ...others, news].map((one) => JSON.stringify(one)),
    'plain words',
    '{"type":"res',
    '',
  ];
}

const WRONG = Object.fromEntries(
  'message subtype part item data content role status error result usage stats tool_id tool_name session_id sessionID thread_id timestamp is_error'
    .split(' ')
    .map((field) => [field, 7]),
);
const ODD: readonly object[] = [
  WRONG,
  { message: null, part: null, item: null, data: null, content: null, error: null },
  { message: [], part: [], item: [], data: [], content: [], error: [] },
  { message: {}, part: {}, item: {}, data: {}, error: {} },
  { message: { id: 7, model: 7, usage: 7, content: 7 } },
  { message: { content: [7, null, {}, { type: 'text', text: 7 }, { type: 'thinking', thinking: 7 }] } },
  { message: { content: [{ type: 'tool_use', id: 7, name: 7, input: 7 }, { type: 'tool_result' }] } },
  { item: { id: 7, type: 'agent_message', text: 7 } },
  { item: { id: 7, type: 'command_execution', command: 7 } },
  { item: { type: 'error', message: 7 } },
  { part: { text: 7, messageID: 7, reason: 7, tool: 7, callID: 7, state: 7, tokens: 7, cost: 'much' } },
  {
    data: {
      messageId: 7,
      deltaContent: 7,
      content: 7,
      toolCallId: 7,
      toolName: 7,
      message: 7,
      errorMessage: 7,
    },
  },
];
