import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { firstOf } from './first-of.ts';

it('aborts at the end of a timeout that nothing else refers to', async () => {
  setFlagsFromString('--expose-gc');
  const signal = firstOf(new AbortController().signal, AbortSignal.timeout(100));
  const aborted = new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')));
  const collecting = setInterval(() => void runInNewContext('gc()'), 20);
  const reached = await Promise.race([
    aborted,
    new Promise((resolve) => setTimeout(() => resolve('forgotten'), 5000)),
  ]);
  clearInterval(collecting);
  expect(reached).toBe('aborted');
});
