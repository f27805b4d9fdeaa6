import type { Tokens } from '../loop/event.ts';

/** Tokens by kind; null if there are none. */
export function tokensText({ input, output, cacheRead, cacheWrite }: Tokens): string | null {
  return input + output + cacheRead + cacheWrite === 0
    ? null
    : `${input} in, ${output} out, ${cacheRead} cache read, ${cacheWrite} cache write`;
}
