import { PassThrough } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { lineOptions } from './line-options.ts';

const stream = (isTTY: boolean): NodeJS.WriteStream =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as much of a terminal as is looked at
  Object.assign(new PassThrough(), {
    isTTY,
    hasColors: () => isTTY,
    getColorDepth: () => 8,
  }) as unknown as NodeJS.WriteStream;

it('S2.87 detects colours and takes emoji, timestamps and the size of tool output from options', () => {
  for (const name of ['NO_COLOR', 'FORCE_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
  expect(lineOptions({}, stream(true)).paint('red', 'x')).toBe('\u001B[31mx\u001B[39m');
  expect(lineOptions({}, stream(false)).paint('red', 'x')).toBe('x');
  vi.stubEnv('NO_COLOR', '1');
  expect(lineOptions({}, stream(true)).paint('red', 'x')).toBe('x');
  vi.unstubAllEnvs();
  const options = { emoji: true, timestamps: true, outputLines: '7', outputChars: '20' };
  expect(lineOptions(options, stream(false))).toMatchObject({
    emoji: true,
    timestamps: true,
    maxLines: 7,
    maxChars: 20,
  });
});

it('S2.111 shows 3 lines of 120 characters by default, and emoji only on a terminal with UTF-8', () => {
  for (const name of ['LC_ALL', 'LC_CTYPE']) vi.stubEnv(name, undefined);
  vi.stubEnv('LANG', 'en_US.UTF-8');
  vi.stubEnv('TERM', 'xterm');
  expect(lineOptions({}, stream(true))).toMatchObject({ emoji: true, maxLines: 3, maxChars: 120 });
  expect(lineOptions({}, stream(false)).emoji).toBe(false);
  vi.stubEnv('LANG', 'C');
  expect(lineOptions({}, stream(true)).emoji).toBe(false);
  vi.unstubAllEnvs();
});
