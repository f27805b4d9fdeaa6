/** Facts about a whole run: its session, its claims, its limits, and when a retry is hopeless. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SessionSpend } from '../../src/loop/state.ts';
import {
  listen,
  listenTo,
  RECORDED,
  recording,
  type Listening,
  type Recorded,
} from '../rig/agent-streams.ts';

/** What the loop knows of a session after its first run. */
function spent({ snapshot }: Listening): SessionSpend {
  const { session = '', tokens, cost } = snapshot;
  return {
    id: session,
    tokens: tokens ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    usd: cost?.usd ?? 0,
  };
}

describe('a resumed session', () => {
  it.each(RECORDED)('%s: the second run reports only its own usage', (agent) => {
    const first = listenTo(agent, '10-resume-first');
    const second = listenTo(agent, '10-resume-second', { session: spent(first) });
    expect(second.heard.session).toBe(first.heard.session);
    expect(second.heard).toMatchObject({ tokens: first.heard.tokens, cost: first.heard.cost });
  });

  it.each(['codex', 'qwen'] as const)('%s: the usage of another session is not subtracted', (agent) => {
    const first = spent(listenTo(agent, '10-resume-first'));
    const other = listenTo(agent, '10-resume-second', { session: { ...first, id: 'another' } });
    expect(other.heard.tokens).toEqual([2700, 68, 1600, 0]);
  });

  it('qwen: a second run that is cut off before its result reports only its own usage too', () => {
    const session = spent(listenTo('qwen', '10-resume-first'));
    const bytes = withoutLastLine(recording('qwen', '10-resume-second'));
    expect(listen('qwen', [bytes], { session }).heard.tokens).toEqual([1350, 34, 800, 0]);
  });

  it('claude: a version that does not report the usage since the last result works too', () => {
    const older = (name: string): Buffer =>
      changed(recording('claude', name), /,"model_usage_since_last_result":\{.*\}\}(?=\}$)/m, '');
    const first = listen('claude', [older('10-resume-first')]);
    expect(first.heard).toMatchObject({ tokens: [1200, 34, 800, 150], cost: 6390, as: 'ok' });
    const second = listen('claude', [older('10-resume-second')], { session: spent(first) });
    expect(second.heard).toMatchObject({ tokens: [1200, 34, 800, 150], cost: 6390, as: 'ok' });
  });
});

describe('copilot', () => {
  it('reports its usage in a separate file when it ends', () => {
    const folder = mkdtempSync(join(tmpdir(), 'usage-'));
    try {
      const recorded = new URL('../fixtures/agent-streams/copilot/usage-output-file.json', import.meta.url);
      writeFileSync(join(folder, 'usage.json'), readFileSync(recorded));
      const { heard } = listenTo('copilot', '04-file-write-edit', { folder });
      expect(heard).toMatchObject({ tokens: [4050, 102, 2400, 0], cost: null, as: 'ok' });
      writeFileSync(join(folder, 'usage.json'), '{"modelMetrics":{"scripted-model":');
      expect(listenTo('copilot', '04-file-write-edit', { folder }).heard).toMatchObject({
        tokens: null,
        as: 'ok',
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

/** The pieces of the last message in recordings that stream it. */
const PIECES: Readonly<Partial<Record<Recorded, readonly string[]>>> = {
  copilot: ['"deltaContent":"All"', '"deltaContent":" do"', '"deltaContent":"ne."'],
  gemini: ['"content":"All"', '"content":" do"', '"content":"ne."'],
};

/** The recording with this as the last message of the agent. */
function answering(agent: Recorded, bytes: Buffer, words: readonly [string, string, string]): Buffer {
  const inPieces = (PIECES[agent] ?? []).reduce(
    (now, piece, index) =>
      changed(now, piece, `${piece.slice(0, piece.indexOf(':') + 1)}${JSON.stringify(words[index])}`),
    bytes,
  );
  // Gemini has the message in pieces only.
  return agent === 'gemini'
    ? inPieces
    : changed(inPieces, /(?<=":)"All done\."/g, JSON.stringify(words.join('')));
}

function changed(bytes: Buffer, what: string | RegExp, by: string): Buffer {
  const before = bytes.toString('utf8');
  const after = before.replace(what, () => by);
  if (after === before) throw new Error(`${String(what)} is not in the recording`);
  return Buffer.from(after);
}

function withoutLastLine(bytes: Buffer): Buffer {
  return Buffer.from(`${bytes.toString('utf8').trimEnd().split('\n').slice(0, -1).join('\n')}\n`);
}

const LIMITS = [
  'You’ve hit your usage limit. Upgrade to Pro or try again at 8:36 AM.',
  "You've hit your 5-hour limit · resets 8:11am (UTC)",
  'Claude AI usage limit reached|1794730286',
  '[API Error: You have exhausted your daily quota on this model.]',
  'API Error: 429 The usage limit has been reached',
] as const;

describe.each(RECORDED)('%s', (agent) => {
  it.each(LIMITS)('is not limited if it only quotes a limit: %s', (sentence) => {
    const quoting = answering(agent, recording(agent, '02-tool-success'), [sentence, ' So it', ' says.']);
    const read = changed(quoting, /made\.txt/g, sentence);
    const whole = listen(agent, [read], { code: 0 });
    expect(whole.heard).toMatchObject({ limit: null, error: null, as: 'ok' });
    expect(whole.heard.text).toContain(`${sentence} So it says.`);
    expect(whole.events).toContainEqual(
      expect.objectContaining({ type: 'tool.end', output: expect.stringContaining(sentence) as unknown }),
    );
    const cutOff = listen(agent, [withoutLastLine(read)], { code: 1 });
    expect(cutOff.heard).toMatchObject({ limit: null, error: 'other', as: 'failure' });
  });

  it('claims in its own text, also in pieces', () => {
    const bytes = answering(agent, recording(agent, '02-tool-success'), ['<promise>', 'DONE', '</promise>']);
    expect(listen(agent, [bytes]).snapshot.claim?.by).toBe('promise-tag');
  });

  it('does not claim with text that it reads, gets as a prompt or thinks', () => {
    const claim = '<promise>DONE</promise>';
    const read = changed(recording(agent, '02-tool-success'), /made\.txt/g, claim);
    expect(listen(agent, [read]).snapshot.claim).toBeNull();
    const thinking = recording(agent, '11-thinking').toString('utf8');
    const words = /The user wants a short answer\.|Do the next task\./g;
    // Reasoning in pieces is ignored, since the complete reasoning follows.
    const thought = Buffer.from(thinking.replaceAll(words, claim));
    expect(listen(agent, [thought])).toMatchObject({ snapshot: { claim: null }, heard: { as: 'ok' } });
  });
});

describe('an agent that retries by itself', () => {
  const last = (agent: Recorded, name: string) =>
    listenTo(agent, name).events.findLast(({ type }) => type === 'retry');

  it.each([
    ['claude', '06-rate-limit-429', { attempt: 10, most: 10, waitMs: 37_848 }],
    ['claude', '07b-overloaded-529', { attempt: 10, most: 10, waitMs: 34_436 }],
    ['codex', '07-server-error-500', { attempt: 5, most: 5, waitMs: null }],
    ['copilot', '06-rate-limit-429', { attempt: 5, most: null, waitMs: null }],
  ] as const)('%s, %s: reports the attempt and the wait', (agent, name, expected) => {
    expect(last(agent, name)).toMatchObject({ ...expected, error: { kind: 'transient' } });
  });

  it('qwen reports its waits, and every retry only once', () => {
    const { events } = listenTo('qwen', '06-rate-limit-429');
    const waits = events.flatMap((event) => (event.type === 'retry' ? [event.waitMs] : []));
    expect(waits).toEqual([60_000, 120_000, 240_000]);
  });

  it.each([
    ['claude', '08-auth-401', true],
    ['codex', '08-auth-401', true],
    ['claude', '06-rate-limit-429', false],
    ['claude', '07-server-error-500', false],
    ['codex', '07b-overloaded-529', false],
    ['copilot', '07-server-error-500', false],
    ['qwen', '06-rate-limit-429', false],
    ['codex', '26-proxy-403', true],
    ['copilot', '28-out-of-credit', true],
    ['qwen', '28-out-of-credit', true],
    // opencode never gives up by itself.
    ['opencode', '13-context-overflow', true],
    ['opencode', '25-captive-portal', true],
    ['codex', '27-connection-refused', false],
  ] as const)('%s, %s: isHopeless is %s', (agent, name, expected) => {
    expect(listenTo(agent, name).reader.isHopeless).toBe(expected);
  });

  it('is hopeless at the third refusal, not before', () => {
    const lines = recording('claude', '08-auth-401').toString('utf8').split('\n');
    const after = (count: number) =>
      listen('claude', [Buffer.from(lines.slice(0, 1 + count).join('\n'))]).reader.isHopeless;
    expect([after(2), after(3)]).toEqual([false, true]);
  });
});

describe('an agent that is stopped while it cannot reach its provider', () => {
  it.each([
    ['codex', '27-connection-refused'],
    ['codex', '26b-proxy-refuses-tunnel'],
    ['copilot', '09g-sigterm-in-retry'],
    ['claude', '24-stall'],
    ['qwen', '06-rate-limit-429'],
    ['codex', '29-rate-limit-of-hours'],
    ['opencode', '29-rate-limit-of-hours'],
    ['opencode', '29b-usage-limit-unnamed'],
  ] as const)('%s, %s: says so in its last snapshot', (agent, name) => {
    expect(listenTo(agent, name).snapshot.unreachable).toBe(true);
  });

  it('names what happened to the connection', () => {
    const reasons = (agent: Recorded, name: string) =>
      listenTo(agent, name).events.flatMap((event) => (event.type === 'retry' ? [event.error.message] : []));
    expect(reasons('claude', '27-connection-refused')).toEqual([
      'no response: the connection was refused, dropped or timed out',
    ]);
    expect(new Set(reasons('codex', '27-connection-refused'))).toEqual(
      new Set(['waiting for network: Connection failed: error sending request']),
    );
  });
});

describe('an agent whose provider never answers', () => {
  it.each(['codex', 'copilot', 'gemini', 'qwen'] as const)('%s: only starts', (agent) => {
    expect(listenTo(agent, '24-stall').reader.isUnanswered).toBe(true);
  });

  it.each(RECORDED)('%s: has not only started once it works', (agent) => {
    expect(listenTo(agent, '09b-sigterm-in-tool').reader.isUnanswered).toBe(false);
  });

  it('claude has only started until it retries', () => {
    const [start = ''] = recording('claude', '24-stall')
      .toString('utf8')
      .split(/(?<=\n)/);
    expect(listen('claude', [Buffer.from(start)]).reader.isUnanswered).toBe(true);
  });

  it('opencode prints nothing before the first answer, so it says nothing', () => {
    expect(listenTo('opencode', '24-stall').reader.isUnanswered).toBe(false);
  });
});

describe('claude', () => {
  it('names the tool that it was not allowed to use', () => {
    const { events, reader } = listenTo('claude', '17-permission-denied');
    expect(events).toContainEqual(expect.objectContaining({ type: 'denied', tool: 'Bash' }));
    expect(reader.error?.message).toMatch(
      /not allowed to use Bash; allow it in the settings of claude, or add --dangerously-skip-permissions/,
    );
  });

  it('reports how much of a limit is used without being limited', () => {
    const { events } = listenTo('claude', '06d-subscription-warning');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'progress', text: '92% of the five hour limit is used' }),
    );
  });

  it('keeps the status of a task when another field of it changes', () => {
    const bytes = changed(
      recording('claude', '05b-task-tools'),
      /(?=^\{"type":"assistant","message":\{"id":"msg_0013")/m,
      '{"type":"assistant","message":{"id":"msg_x","content":[{"type":"tool_use","id":"t","name":"TaskUpdate","input":{"taskId":"1","owner":"me"}}]}}\n',
    );
    expect(listen('claude', [bytes]).heard.todos).toEqual(['done: Read the code', 'pending: Write the fix']);
  });
});

describe('opencode', () => {
  const lines = (name: string): readonly string[] => recording('opencode', name).toString('utf8').split('\n');
  const heard = (...parts: readonly (readonly string[])[]) =>
    listen('opencode', [Buffer.from(parts.flat().join('\n'))], { code: 0 }).heard;
  const whole = lines('01-text-success').slice(0, 3);
  const [tooLong = '', , , summedUp = '', goOn = ''] = lines('13-context-overflow');

  it('has not finished if another step started or it tells itself to continue', () => {
    expect(heard(whole)).toMatchObject({ as: 'ok' });
    expect(heard(whole, lines('02-tool-success').slice(0, 1))).toMatchObject({
      said: 'error',
      as: 'failure',
    });
    expect(heard(whole, [goOn])).toMatchObject({ said: 'error', as: 'failure' });
  });

  it('has not finished when it has only compacted its context', () => {
    expect(heard(lines('13-context-overflow').slice(0, 4))).toMatchObject({ said: 'error', as: 'failure' });
    expect(heard([tooLong, summedUp])).toMatchObject({ said: 'error', as: 'failure' });
  });

  it('has finished if it continued after compacting and stopped', () => {
    expect(heard(lines('13-context-overflow').slice(0, 5), whole)).toMatchObject({
      text: 'Hello from the script.',
      thoughts: 'Side answer',
      error: null,
      as: 'ok',
    });
  });
});

describe('a program that could not start', () => {
  it.each([
    ['claude', '--dangerously-skip-permissions cannot be used with root/sudo privileges', 'other', 'failure'],
    [
      'gemini',
      'Please set an Auth method in your settings or specify GEMINI_API_KEY',
      'authentication',
      'fatal',
    ],
    ['qwen', 'No auth type is selected. Please configure an auth type', 'authentication', 'fatal'],
    ['codex', 'Missing environment variable: `OPENAI_API_KEY`.', 'authentication', 'fatal'],
    ['gemini', 'Invalid auth method selected.', 'invalid-configuration', 'fatal'],
    ['gemini', 'When using Vertex AI, you must specify either:\n• a project', 'authentication', 'fatal'],
  ] as const)('%s reports it only on stderr: %s', (agent, stderr, error, as) => {
    expect(listen(agent, [], { stderr: `${stderr}\n`, code: 1 }).heard).toMatchObject({ error, as });
  });
});

describe('stderr', () => {
  const stderr = 'Attempt 1 failed: You exceeded your current quota. Retrying …\n';

  it.each(RECORDED)('%s: is not read for limits if the run succeeded', (agent) => {
    const { heard } = listenTo(agent, '02-tool-success', { stderr });
    expect(heard).toMatchObject({ limit: null, error: null, as: 'ok' });
  });
});
