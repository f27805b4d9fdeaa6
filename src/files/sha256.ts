/**
 * SHA-256 of a short text, in hexadecimal. Commands that only show loops need a single one, and loading node:crypto takes them
 * longer than all the rest of their work.
 */
export function sha256(text: string): string {
  const state = Int32Array.from(FIRST);
  const blocks = padded(Buffer.from(text, 'utf8'));
  const words = new Int32Array(64);
  for (let at = 0; at < blocks.length; at += BLOCK) mix(state, words, blocks, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

const BLOCK = 64;

/** The bytes, a bit, zeros, and the length in bits. */
function padded(bytes: Buffer): Buffer {
  const blocks = Buffer.alloc(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  bytes.copy(blocks);
  blocks[bytes.length] = 0x80;
  blocks.writeBigUInt64BE(BigInt(bytes.length) * 8n, blocks.length - 8);
  return blocks;
}

/** One block, as FIPS 180-4 (section 6.2.2) describes it. */
function mix(state: Int32Array, words: Int32Array, blocks: Buffer, from: number): void {
  const word = (at: number): number => words[at] ?? 0;
  for (let at = 0; at < 16; at++) words[at] = blocks.readInt32BE(from + at * 4);
  for (let at = 16; at < 64; at++) {
    const early = word(at - 15);
    const late = word(at - 2);
    const first = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3);
    const second = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10);
    words[at] = (word(at - 16) + first + word(at - 7) + second) | 0;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < 64; at++) {
    const choice = (e & f) ^ (~e & g);
    const one =
      (h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + choice + (ROUNDS[at] ?? 0) + word(at)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const two = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((value, at) => {
    state[at] = ((state[at] ?? 0) + value) | 0;
  });
}

function turned(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

const PRIMES = firstPrimes(64);
/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUNDS = PRIMES.map((prime) => fraction(prime, 3));
/** The same of the square roots of the first 8. */
const FIRST = PRIMES.slice(0, 8).map((prime) => fraction(prime, 2));

/** Exactly: the root of a number with 32 (or 64) times as many bits, without its whole part. */
function fraction(prime: number, root: 2 | 3): number {
  return Number(BigInt.asIntN(32, rootOf(BigInt(prime) << BigInt(32 * root), BigInt(root))));
}

/** The whole part of a root, by Newton's method. */
function rootOf(value: bigint, root: bigint): bigint {
  let guess = 1n << 40n;
  for (;;) {
    const next = ((root - 1n) * guess + value / guess ** (root - 1n)) / root;
    if (next >= guess) return guess;
    guess = next;
  }
}

function firstPrimes(count: number): readonly number[] {
  const primes: number[] = [];
  for (let number = 2; primes.length < count; number++)
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  return primes;
}
