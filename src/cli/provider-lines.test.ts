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

it('tells a reason once, and again in the next run', () => {
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
    'no answer from the provider (529 overloaded): try 1 of 10, again in 2s',
    'no answer from the provider as before: try 2 of 10, again in 2s',
    'no answer from the provider (connection reset): try 3 of 10, again in 2s',
  ]);
  provider.begin();
  expect(lines(retry(1, 'transient', 'connection reset'))[0]).toContain('(connection reset)');
});

it('calls a refusal what it is', () => {
  expect(new ProviderLines().lines(retry(1, 'authentication', '401 no such key'))).toEqual([
    'refused by the provider (401 no such key): try 1 of 10, again in 2s',
  ]);
});
