import { expect, it } from 'vitest';
import type { AgentEvent } from '../agents/agent.ts';
import { ProviderLines } from './provider-lines.ts';

type Kind = Extract<AgentEvent, { type: 'retry' }>['error']['kind'];
const retry = (attempt: number, kind: Kind, message: string): AgentEvent => ({
  type: 'retry',
  attempt,
  most: 10,
  waitMs: 2000,
  error: { kind, message },
});

it('prints a reason once per run', () => {
  const provider = new ProviderLines();
  const lines = (...events: readonly AgentEvent[]): readonly string[] =>
    events.flatMap((event) => provider.lines(event));
  expect(
    lines(
      retry(1, 'transient', '529 overloaded'),
      retry(2, 'transient', '529 overloaded'),
      retry(3, 'transient', 'connection reset'),
    ),
  ).toEqual([
    'provider unavailable (529 overloaded): retry 1 of 10 in 2s',
    'provider unavailable (same error): retry 2 of 10 in 2s',
    'provider unavailable (connection reset): retry 3 of 10 in 2s',
  ]);
  provider.begin();
  expect(lines(retry(1, 'transient', 'connection reset'))[0]).toContain('(connection reset)');
});

it('tells a rejection from an outage', () => {
  expect(new ProviderLines().lines(retry(1, 'authentication', '401 no such key'))).toEqual([
    'rejected by the provider (401 no such key): retry 1 of 10 in 2s',
  ]);
  expect(new ProviderLines().lines(retry(1, 'blocked', '403 Access Denied'))).toEqual([
    'provider unavailable (403 Access Denied): retry 1 of 10 in 2s',
  ]);
});
