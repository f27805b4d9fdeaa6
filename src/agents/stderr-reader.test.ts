import { describe, expect, it } from 'vitest';
import { classify } from '../loop/failure.ts';
import { presets } from '../loop/presets.ts';
import { runWith } from '../../test/rig/run-with.ts';
import { searchInTime } from '../owner/pattern-search.ts';
import type { AgentEvent } from './agent.ts';
import { codex } from './codex.ts';
import { opencode } from './opencode.ts';
import { readRun, type ReadContext, type RunReader } from './reader.ts';

const { detectors } = presets.default.policy.completion;
const context = (shown: ReadContext['shown'] = { offset: 0 }): ReadContext => ({
  shown,
  startedAt: 0,
  folder: '/nowhere',
  workspaceFolder: '/nowhere',
  argv: ['opencode'],
  env: () => ({}),
  session: null,
  price: () => null,
  hide: (text) => text,
  search: searchInTime,
});
const line = (event: object): string => `${JSON.stringify(event)}\n`;

describe('what a CLI says only on stderr', () => {
  const limitLine =
    'timestamp=2026-11-19T01:52:42.283Z level=ERROR run=1 message="stream error" small=false error.error="AI_APICallError: The usage limit has been reached"\n';
  const step = line({ type: 'step_start', sessionID: 's', part: { type: 'step-start' } });
  const begin = (argv: readonly string[] = ['opencode']) => {
    const shown: AgentEvent[] = [];
    const reader = readRun(opencode, detectors, { ...context(), argv }, (event) => void shown.push(event));
    return { reader, shown };
  };
  const complain = (reader: RunReader, text: string): string =>
    reader.readStderr(Buffer.from(text)).toString('utf8');

  it('is a usage limit as long as it is the last sign, and no activity', () => {
    const { reader, shown } = begin();
    reader.read(Buffer.from(step));
    complain(reader, limitLine);
    expect(reader.isActive).toBe(false);
    expect(reader.snapshot(false)).toMatchObject({
      limit: { resetsAt: null, message: 'The usage limit has been reached' },
      unreachable: true,
    });
    expect(shown.filter(({ type }) => type === 'retry')).toMatchObject([{ attempt: 1 }]);
    reader.read(Buffer.from(step.repeat(2)));
    reader.read(
      Buffer.from(line({ type: 'text', part: { type: 'text', text: 'I go on.', messageID: 'm' } })),
    );
    expect(reader.isActive).toBe(true);
    reader.end();
    expect(reader.snapshot(true)).toMatchObject({ limit: null });
  });

  it('shows a retry once, and the log only to a user who asks for it', () => {
    const { reader, shown } = begin();
    expect(complain(reader, `one\n${limitLine.slice(0, 40)}`)).toBe('one\n');
    expect(complain(reader, `${limitLine.slice(40)}two\n`)).toBe('two\n');
    expect(shown).toHaveLength(1);
    expect(complain(begin(['opencode', '--print-logs']).reader, limitLine)).toBe(limitLine);
  });

  it('does not show again what was shown before a crash', () => {
    const shown: AgentEvent[] = [];
    const known = { ...context({ offset: 0, complained: limitLine.length }) };
    const reader = readRun(opencode, detectors, known, (event) => void shown.push(event));
    expect(complain(reader, `${limitLine}more\n`)).toBe('more\n');
    expect(shown).toEqual([]);
    expect(reader.snapshot(false).limit).not.toBeNull();
  });

  it('ends a CLI that retries a request that cannot succeed', () => {
    const { reader } = begin();
    const unpaid = limitLine.replace(/The usage.*reached/, 'Your credit balance is too low');
    complain(reader, unpaid.repeat(2));
    expect(reader.isHopeless).toBe(false);
    complain(reader, unpaid);
    expect(reader.isHopeless).toBe(true);
    expect(reader.error).toMatchObject({ kind: 'out-of-credit' });
  });

  const logged = (level: string, rest: string): string =>
    `timestamp=2026-11-19T01:52:42.429Z level=${level} run=1 ${rest}\n`;

  it.each([
    ['message="stream error" error.error="AI_APICallError: Rate limited."', 'Rate limited.'],
    ['message="stream error" error.error="AI_APICallError: Too Many Requests"', 'Too Many Requests'],
    ['message="stream error" status=429 error.error="AI_APICallError: Slow down."', 'Slow down.'],
    [
      'message=process error="AI_APICallError: The usage limit has been reached"',
      'The usage limit has been reached',
    ],
    ['message=retry error.statusCode=429', 'message=retry error.statusCode=429'],
  ])('is a usage limit without a reset time if the log says %s', (rest, message) => {
    const { reader } = begin();
    reader.read(Buffer.from(step));
    complain(reader, logged('ERROR', rest));
    // What it logs besides is no other sign.
    complain(reader, logged('ERROR', 'message="failed to load a plugin"'));
    reader.end();
    const snapshot = reader.snapshot(true);
    expect(snapshot.limit).toEqual({ resetsAt: null, message });
    const ending = { how: 'timed-out', which: 'inactivity' } as const;
    expect(classify(runWith(snapshot), ending, presets.default.policy)).toBe('usage-limit');
  });

  it.each(['DEBUG', 'INFO', 'WARN', 'ERROR'])('is no activity in a line of level %s', (level) => {
    for (const argv of [['opencode'], ['opencode', '--print-logs']]) {
      const { reader } = begin(argv);
      const entry = logged(level, 'message="checking the workspace"');
      for (const part of [entry, entry.slice(0, 5), entry.slice(5, 40), `${entry.slice(40)}${entry}`]) {
        complain(reader, part);
        expect([argv, part, reader.isActive]).toEqual([argv, part, false]);
      }
      complain(reader, `${entry}a line of its own\n`);
      expect(reader.isActive).toBe(true);
    }
  });

  it('is not read from other lines of the log', () => {
    const { reader } = begin();
    complain(reader, logged('DEBUG', 'message="the prompt names a usage limit and 429"'));
    complain(
      reader,
      logged('ERROR', 'message=process error="Your credit balance is too low (429)"').repeat(3),
    );
    complain(reader, logged('ERROR', 'message=process error="Connection error."'));
    expect(reader.isHopeless).toBe(false);
    reader.end();
    expect(reader.snapshot(true)).toMatchObject({ limit: null });
    expect(reader.error?.message).toMatch(/^the agent ended without reporting a result/);
  });

  it('is outranked by the error with which the CLI ends', () => {
    const { reader } = begin();
    complain(reader, limitLine);
    reader.read(
      Buffer.from(
        line({ type: 'error', error: { name: 'APIError', data: { statusCode: 401, message: 'No.' } } }),
      ),
    );
    reader.end();
    expect(reader.snapshot(true).limit).toBeNull();
    expect(reader.error?.kind).toBe('authentication');
  });
});

describe('the usage that a CLI has recorded', () => {
  it('is no news from a provider that it cannot reach', () => {
    const usage = {
      parts: [{ model: null, tokens: { input: 5, output: 1, cacheRead: 0, cacheWrite: 0 } }],
      costUsd: null,
      isWholeSession: true,
    };
    const reader = readRun(
      { ...codex, record: () => ({ read: () => usage }) },
      detectors,
      context(),
      () => {},
    );
    reader.read(
      Buffer.from(
        line({ type: 'error', message: 'Reconnecting... 1/5 (last status: 429 Too Many Requests)' }),
      ),
    );
    reader.end();
    expect(reader.snapshot(true)).toMatchObject({ unreachable: true, tokens: { input: 5 } });
  });
});
