import { describe, expect, it } from 'vitest';
import { presets } from '../loop/presets.ts';
import type { AgentEvent } from './agent.ts';
import { codex } from './codex.ts';
import { opencode } from './opencode.ts';
import { readRun, type ReadContext, type RunReader } from './reader.ts';

const { detectors } = presets.default.policy.completion;
const context = (shown: ReadContext['shown'] = { offset: 0 }): ReadContext => ({
  shown,
  startedAt: 0,
  folder: '/nowhere',
  desk: '/nowhere',
  argv: ['opencode'],
  env: () => ({}),
  session: null,
  price: () => null,
  hide: (text) => text,
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
    expect(reader.isUnreachable).toBe(true);
    expect(reader.snapshot(false)).toMatchObject({
      limit: { resetsAt: null, message: 'The usage limit has been reached' },
      unreachable: true,
    });
    expect(shown.filter(({ type }) => type === 'retry')).toMatchObject([{ attempt: 1 }]);
    reader.read(Buffer.from(step.repeat(2)));
    reader.read(
      Buffer.from(line({ type: 'text', part: { type: 'text', text: 'I go on.', messageID: 'm' } })),
    );
    expect(reader.isUnreachable).toBe(false);
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

  it('is not read from other lines of the log', () => {
    const { reader } = begin();
    complain(reader, limitLine.replace('stream error', 'process'));
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
