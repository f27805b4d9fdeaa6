import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { LastLines } from './last-lines.ts';

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
