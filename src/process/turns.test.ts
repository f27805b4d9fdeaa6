import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { turn } from './turns.ts';

const busy = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end;);
};
/** Counts the rounds of the event loop until it is stopped. */
const countRounds = () => {
  let rounds = 0;
  let isOver = false;
  const count = (): void => {
    rounds++;
    if (!isOver) setImmediate(count);
  };
  count();
  return {
    get rounds() {
      return rounds;
    },
    stop: () => {
      isOver = true;
    },
  };
};

describe('turns', () => {
  it('are given in order, with a round of the event loop between those that take long', async () => {
    const counter = countRounds();
    const order: number[] = [];
    const rounds = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        await turn();
        // What the turn leads to counts too, also if it is not done at once.
        await Promise.resolve();
        await Promise.resolve();
        order.push(index);
        busy(5);
        return counter.rounds;
      }),
    );
    counter.stop();
    expect(order).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(rounds).size).toBe(10);
  });

  it('also count if each is asked for in a timer of its own', async () => {
    const counter = countRounds();
    const rounds = await Promise.all(
      Array.from({ length: 10 }, async () => {
        await sleep(5);
        await turn();
        busy(5);
        return counter.rounds;
      }),
    );
    counter.stop();
    expect(new Set(rounds).size).toBe(10);
  });

  it('are given at once if nothing else wants one', async () => {
    const counter = countRounds();
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
    const before = counter.rounds;
    await turn();
    expect(counter.rounds).toBe(before);
    counter.stop();
  });
});
