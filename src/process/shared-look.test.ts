import { describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { SharedLook } from './shared-look.ts';

/** A look that ends when it is told to; it finds its own number. */
const slowLook = () => {
  const looks: (() => void)[] = [];
  const shared = new SharedLook(
    () =>
      new Promise<number>((resolve) => {
        const number = looks.length + 1;
        looks.push(() => resolve(number));
      }),
  );
  const begun = (count: number): Promise<true> =>
    until(`look ${count}`, () => looks.length >= count || null, { everyMs: 1 });
  return { looks, shared, begun };
};
const itself = (found: number): number => found;

describe('a shared look', () => {
  it('answers all questions of one turn with one look', async () => {
    const { looks, shared, begun } = slowLook();
    const answers = Promise.all(Array.from({ length: 100 }, () => shared.ask(itself)));
    await begun(1);
    looks[0]?.();
    expect(new Set(await answers)).toEqual(new Set([1]));
    expect(looks).toHaveLength(1);
  });

  it('answers a question that was asked during a look with the next one', async () => {
    const { looks, shared, begun } = slowLook();
    const first = shared.ask(itself);
    await begun(1);
    const later = [shared.ask(itself), shared.ask((found) => found * 10)];
    looks[0]?.();
    expect(await first).toBe(1);
    await begun(2);
    looks[1]?.();
    expect(await Promise.all(later)).toEqual([2, 20]);
    expect(looks).toHaveLength(2);
  });

  it('passes on a failure to the questions that it concerns, and looks again', async () => {
    let looks = 0;
    const shared = new SharedLook(async () => {
      looks++;
      if (looks === 1) throw new Error('no look');
      return looks;
    });
    await expect(shared.ask(itself)).rejects.toThrow('no look');
    const bad = shared.ask(() => {
      throw new Error('no answer');
    });
    const good = shared.ask(itself);
    await expect(bad).rejects.toThrow('no answer');
    expect(await good).toBe(2);
  });

  it('lets the event loop turn between answers that take long', async () => {
    const shared = new SharedLook(async () => 0);
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    const busy = (): void => {
      for (const end = performance.now() + 5; performance.now() < end;);
    };
    const answers = Array.from({ length: 10 }, async () => {
      await shared.ask(itself);
      busy();
      return turns;
    });
    count();
    const seen = await Promise.all(answers);
    isOver = true;
    expect(new Set(seen).size).toBe(10);
  });
});
