import { describe, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { SharedScan } from './shared-scan.ts';

/** A scan that ends when it is told to; it finds its own number. */
const slowScan = () => {
  const scans: (() => void)[] = [];
  const shared = new SharedScan(
    () =>
      new Promise<number>((resolve) => {
        const number = scans.length + 1;
        scans.push(() => resolve(number));
      }),
  );
  const begun = (count: number): Promise<true> =>
    until(`scan ${count}`, () => scans.length >= count || null, { everyMs: 1 });
  return { scans, shared, begun };
};
const itself = (found: number): number => found;

describe('a shared scan', () => {
  it('answers all questions of one turn with one scan', async () => {
    const { scans, shared, begun } = slowScan();
    const answers = Promise.all(Array.from({ length: 100 }, () => shared.ask(itself)));
    await begun(1);
    scans[0]?.();
    expect(new Set(await answers)).toEqual(new Set([1]));
    expect(scans).toHaveLength(1);
  });

  it('answers a question that was asked during a scan with the next one', async () => {
    const { scans, shared, begun } = slowScan();
    const first = shared.ask(itself);
    await begun(1);
    const later = [shared.ask(itself), shared.ask((found) => found * 10)];
    scans[0]?.();
    expect(await first).toBe(1);
    await begun(2);
    scans[1]?.();
    expect(await Promise.all(later)).toEqual([2, 20]);
    expect(scans).toHaveLength(2);
  });

  it('passes on a failure to the questions that it concerns, and scans again', async () => {
    let scans = 0;
    const shared = new SharedScan(async () => {
      scans++;
      if (scans === 1) throw new Error('no scan');
      return scans;
    });
    await expect(shared.ask(itself)).rejects.toThrow('no scan');
    const bad = shared.ask(() => {
      throw new Error('no answer');
    });
    const good = shared.ask(itself);
    await expect(bad).rejects.toThrow('no answer');
    expect(await good).toBe(2);
  });

  it('lets the event loop turn between answers that take long', async () => {
    const shared = new SharedScan(async () => 0);
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
