import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LastLines, lastLinesOf } from './last-lines.ts';

it('keeps the last lines, in whatever pieces they come', () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc', '\n', 'é'), { maxLength: 30 })
    .map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.array(text), fc.integer({ min: 1, max: 5 }), (pieces, limit) => {
      const last = new LastLines(limit);
      for (const piece of pieces) last.add(piece);
      const all = pieces.join('').split(/(?<=\n)/);
      expect(last.take().toString()).toBe(all.slice(-limit).join(''));
      expect(last.take()).toHaveLength(0);
    }),
  );
});

it('keeps the last lines of several outputs, and reads only the last of them', async () => {
  const text = fc
    .array(fc.constantFrom('a', 'bc', '\n', 'é'), { maxLength: 8 })
    .map((parts) => parts.join(''));
  await fc.assert(
    fc.asyncProperty(fc.array(text), fc.integer({ min: 1, max: 5 }), async (outputs, limit) => {
      const last = await lastLinesOf(limit, outputs, async (output, lines) => lines.add(output));
      const all = outputs.join('').split(/(?<=\n)/);
      expect(last.take().toString()).toBe(all.slice(-limit).join(''));
    }),
  );
  const read: number[] = [];
  await lastLinesOf(3, [1, 2, 3, 4, 5], async (number, lines) => {
    read.push(number);
    lines.add('one\ntwo\n');
  });
  expect(read).toEqual([5, 4]);
});
