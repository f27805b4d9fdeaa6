import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { searchInTime } from '../owner/pattern-search.ts';
import type { Agent } from './agent.ts';
import { claude } from './claude.ts';
import { gemini } from './gemini.ts';
import { readRun, type RunReader } from './reader.ts';

const fixture = (path: string): string =>
  readFileSync(new URL(`../../test/fixtures/${path}`, import.meta.url), 'utf8');
const stream = fixture('claude-session/stream.jsonl').trimEnd().split('\n');
const session = fixture('claude-session/session.jsonl');
const subagent = fixture('claude-session/subagent.jsonl');
const SESSION = 'db43316d-170c-4313-9ae5-fa40bf1e43bd';
const STARTED_AT = Date.parse('2026-11-19T04:41:02Z');
/** The numbers of the recorded result. */
const ALL = { input: 4810, output: 16077, cacheRead: 3205, cacheWrite: 603 };
const CUT_OFF = stream.slice(0, -1);

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ralph-record-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (path: string, text: string): string => {
  const whole = join(home, path);
  mkdirSync(dirname(whole), { recursive: true });
  writeFileSync(whole, text);
  return whole;
};
const FOLDER = '.claude/projects/-project';
const FILE = `${FOLDER}/${SESSION}.jsonl`;
const putBoth = (): void => {
  put(FILE, session);
  put(`${FOLDER}/${SESSION}/subagents/agent-1.jsonl`, subagent);
};

interface Told {
  readonly agent?: Agent;
  readonly env?: Readonly<Record<string, string>>;
  readonly startedAt?: number;
}

const open = ({ agent = claude, env, startedAt = STARTED_AT }: Told = {}): RunReader =>
  readRun(
    agent,
    [],
    {
      shown: { offset: 0 },
      startedAt,
      folder: '/nowhere',
      workspaceFolder: '/nowhere',
      argv: [agent.name],
      env: () => env ?? { HOME: home },
      session: null,
      price: (_, { input, output }) => (input + 5 * output) / 1e6,
      hide: (text) => text,
      search: searchInTime,
    },
    () => {},
  );
const reads = (reader: RunReader, lines: readonly string[]): RunReader => {
  for (const line of lines) reader.read(Buffer.from(`${line}\n`));
  return reader;
};
const tokensOf = (lines: readonly string[], told?: Told) => {
  const reader = reads(open(told), lines);
  reader.end();
  return reader.snapshot(true).tokens;
};
const message = (id: string, output: number, at = '2026-11-19T04:41:05Z'): string =>
  `${JSON.stringify({ type: 'assistant', timestamp: at, message: { id, model: 'claude-opus-5-5', usage: { input_tokens: 1, output_tokens: output } } })}\n`;

describe('the usage of a claude run without a result', () => {
  it('is that of its messages in the session file, with those of its subagents, each counted once', () => {
    putBoth();
    expect(tokensOf(CUT_OFF)).toEqual(ALL);
    const reader = reads(open(), CUT_OFF);
    expect(reader.snapshot(false).cost).toEqual({ usd: (4810 + 5 * 16077) / 1e6, source: 'estimated' });
    expect(reader.snapshot(false).outputEstimated).toBeUndefined();
  });

  it('is known while it runs, as soon as a line of the file has ended', () => {
    const reader = reads(open(), [stream[0] ?? '']);
    expect(reader.snapshot(false).tokens).toBeNull();
    const path = put(FILE, message('a', 100).slice(0, 50));
    expect(reader.snapshot(false).tokens).toBeNull();
    appendFileSync(path, message('a', 100).slice(50));
    expect(reader.snapshot(false).tokens).toMatchObject({ output: 100 });
    appendFileSync(path, message('b', 30) + message('a', 120) + message('a', 110));
    expect(reader.snapshot(false).tokens).toMatchObject({ input: 2, output: 150 });
    // Written anew: nothing counts twice, and nothing is taken back.
    writeFileSync(path, message('b', 30));
    expect(reader.snapshot(false).tokens).toMatchObject({ input: 2, output: 150 });
  });

  it('is found in the folder that the loop gives to claude', () => {
    put(`elsewhere/projects/x/${SESSION}.jsonl`, session);
    expect(
      tokensOf(CUT_OFF, { env: { HOME: '/nowhere', CLAUDE_CONFIG_DIR: join(home, 'elsewhere') } }),
    ).toEqual({
      ...ALL,
      // Without the file of the subagent.
      output: 16000,
    });
  });

  it('is that of the run alone if it continues a session', () => {
    put(FILE, message('before', 1000, '2026-11-19T04:40:59Z') + message('after', 10));
    expect(tokensOf([stream[0] ?? ''])).toMatchObject({ output: 10 });
  });

  it('is never less than the stream says, and never more than its result says', () => {
    const [start = '', first = ''] = stream;
    put(FILE, message('msg_0002', 1));
    expect(tokensOf([start, first])).toMatchObject({ input: 1200, cacheRead: 800, cacheWrite: 150 });
    put(FILE, message('absurd', 1e300) + message('negative', -5));
    expect(tokensOf([start, first])).toMatchObject({ input: 1200 });
    put(FILE, message('forged', 1e9));
    expect(tokensOf(stream)).toEqual(ALL);
  });

  describe('after a result that is not the last one', () => {
    const tasks = JSON.stringify({
      type: 'system',
      subtype: 'background_tasks_changed',
      tasks: [{ id: 'b1' }],
    });
    const model_usage_since_last_result = {
      'claude-opus-5-5[1m]': { inputTokens: 1, outputTokens: 50, costUSD: 0.25 },
    };
    const held = [
      stream[0] ?? '',
      tasks,
      message('a', 1).trimEnd(),
      JSON.stringify({ type: 'result', subtype: 'success', result: 'x', model_usage_since_last_result }),
    ];

    it('is that of the result alone if nothing more is used', () => {
      put(FILE, message('a', 50));
      const reader = reads(open(), held);
      const known = { tokens: { input: 1, output: 50 }, cost: { usd: 0.25, source: 'reported' } };
      expect(reader.snapshot(false)).toMatchObject(known);
      reader.end();
      expect(reader.snapshot(true)).toMatchObject(known);
    });

    it('grows by what the stream says', () => {
      const reader = reads(open(), [...held, message('b', 7).trimEnd()]);
      reader.end();
      expect(reader.snapshot(true).tokens).toMatchObject({ input: 2, output: 57 });
    });

    it('grows by what is recorded, and counts nothing twice', () => {
      put(FILE, message('a', 50));
      const reader = reads(open(), held);
      put(FILE, message('a', 50) + message('b', 400));
      expect(reader.snapshot(false).tokens).toMatchObject({ input: 2, output: 450 });
      reads(reader, [message('b', 1).trimEnd()]);
      reader.end();
      expect(reader.snapshot(true)).toMatchObject({
        tokens: { input: 2, output: 450 },
        cost: { source: 'estimated' },
      });
    });
  });

  it.each(['../../x', `${SESSION}\n`, '', '*', `x/../${SESSION}`])(
    'is not looked for as session %j',
    (id) => {
      putBoth();
      const start = JSON.stringify({ type: 'system', subtype: 'init', session_id: id });
      expect(tokensOf([start])).toBeNull();
    },
  );

  it('is not read from a link or a pipe', () => {
    const target = put('target', session);
    const path = put(FILE, '');
    for (const replace of [() => symlinkSync(target, path), () => execFileSync('mkfifo', [path])]) {
      rmSync(path);
      replace();
      expect(tokensOf([stream[0] ?? ''])).toBeNull();
    }
    rmSync(path);
    symlinkSync(dirname(put('folder/subagents/agent-1.jsonl', subagent)), join(home, FOLDER, SESSION));
    put(FILE, '');
    expect(tokensOf([stream[0] ?? ''])).toBeNull();
  });

  it('is estimated from the text if no session file is found, and says so', () => {
    const text = 'word '.repeat(700);
    const block = (content: object): string =>
      JSON.stringify({
        type: 'assistant',
        message: {
          id: 'a',
          model: 'claude-opus-5-5',
          content: [content],
          stop_reason: null,
          usage: { input_tokens: 500, output_tokens: 1 },
        },
      });
    const lines = [
      stream[0] ?? '',
      block({ type: 'text', text }),
      block({ type: 'tool_use', id: 't', name: 'Bash', input: { command: 'echo '.repeat(140) } }),
    ];
    const reader = reads(open(), lines);
    const { tokens, cost, outputEstimated } = reader.snapshot(false);
    expect(tokens?.output).toBeGreaterThan(1100);
    expect(tokens?.output).toBeLessThan(1300);
    expect(cost?.usd).toBeCloseTo((500 + 5 * (tokens?.output ?? 0)) / 1e6, 9);
    expect(outputEstimated).toBe(true);
    put(FILE, message('a', 1234));
    expect(reader.snapshot(false)).toMatchObject({ tokens: { input: 500, output: 1234 } });
    expect(reader.snapshot(false).outputEstimated).toBeUndefined();
  });
});

describe('the usage of a gemini run that was killed', () => {
  it('is that of its messages in the session file', () => {
    const lines = fixture('gemini-session/stream.jsonl').trimEnd().split('\n');
    expect(tokensOf(lines, { agent: gemini })).toBeNull();
    put(
      '.gemini/tmp/project/chats/session-2026-11-19T04-43-a38bbf14.jsonl',
      fixture('gemini-session/chat.jsonl'),
    );
    const three = { input: 3600, output: 12_000, cacheRead: 2400, cacheWrite: 0 };
    expect(tokensOf(lines, { agent: gemini })).toEqual(three);
    const env = { HOME: '/nowhere', GEMINI_CLI_HOME: home };
    expect(tokensOf(lines, { agent: gemini, env })).toEqual(three);
  });
});
