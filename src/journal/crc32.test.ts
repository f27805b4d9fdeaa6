import { crc32 as zlib } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { anyText } from '../../test/rig/any-text.ts';
import { crc32 } from './crc32.ts';

it('equals the checksum of zlib for short and long data, whole and in pieces', () => {
  fc.assert(
    fc.property(fc.string(), anyText(), (a, b) => {
      expect(crc32(a)).toBe(zlib(a));
      expect(crc32(Buffer.from(b), crc32(a))).toBe(zlib(Buffer.from(b), zlib(a)));
    }),
  );
  const long = Buffer.alloc(100_000, 'long');
  expect(crc32(long, 7)).toBe(zlib(long, 7));
});
