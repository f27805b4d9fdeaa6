import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OwnLogFilter } from './own-log.ts';

const shownOf = (...chunks: readonly string[]): string => {
  const filter = new OwnLogFilter('timestamp=');
  return chunks.map((chunk) => filter.push(Buffer.from(chunk)).toString('utf8')).join('');
};

describe('the log of a CLI on stderr', () => {
  it('is left out, and everything else is shown', () => {
    expect(shownOf('one\ntimestamp=1 level=ERROR\n\ntimes\n timestamp=2\ntimestamp=3')).toBe(
      'one\n\ntimes\n timestamp=2\n',
    );
  });

  it('does not hold back a line that is no line of it', () => {
    expect(shownOf('enter a code: ')).toBe('enter a code: ');
    expect(shownOf('time')).toBe('');
    expect(shownOf('time', 'out\n')).toBe('timeout\n');
  });

  it('is left out whatever the chunks are', () => {
    const line = fc.constantFrom('timestamp=1 x', 'timestamp', 'timestam timestamp=', '', 't', 'plain');
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat(8)), (lines, sizes) => {
        const text = lines.map((one) => `${one}\n`).join('');
        const chunks = sizes.reduce<{ readonly done: readonly string[]; readonly rest: string }>(
          ({ done, rest }, size) => ({ done: [...done, rest.slice(0, size)], rest: rest.slice(size) }),
          { done: [], rest: text },
        );
        const plain = lines.filter((one) => !one.startsWith('timestamp=')).map((one) => `${one}\n`);
        expect(shownOf(...chunks.done, chunks.rest)).toBe(plain.join(''));
      }),
    );
  });
});
