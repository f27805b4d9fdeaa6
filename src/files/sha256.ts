/**
 * SHA-256 of a text, in hexadecimal. Commands that only show loops and the hook of a session need few, of short texts, and loading
 * node:crypto takes them longer than that.
 */
export function sha256(text: string): string {
  const bytes = Buffer.from(text, 'utf8');
  if (bytes.length > USE_CRYPTO_ABOVE)
    return process.getBuiltinModule('node:crypto').createHash('sha256').update(bytes).digest('hex');
  const state = Int32Array.from(FIRST);
  const blocks = padded(bytes);
  const words = new Int32Array(64);
  for (let at = 0; at < blocks.length; at += BLOCK) mix(state, words, blocks, at);
  return [...state].map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
}

const USE_CRYPTO_ABOVE = 8 * 1024;

const BLOCK = 64;

/** The bytes, a bit, zeros, and the length in bits. */
function padded(bytes: Buffer): Buffer {
  const blocks = Buffer.alloc(Math.ceil((bytes.length + 9) / BLOCK) * BLOCK);
  bytes.copy(blocks);
  blocks[bytes.length] = 0x80;
  // The upper half of the length is 0.
  blocks.writeUInt32BE(bytes.length * 8, blocks.length - 4);
  return blocks;
}

/** One block, as FIPS 180-4 (section 6.2.2) describes it. It runs before it is optimized, so it makes no objects and calls nothing. */
function mix(state: Int32Array, words: Int32Array, blocks: Buffer, from: number): void {
  for (let at = 0; at < 16; at++) words[at] = blocks.readInt32BE(from + at * 4);
  for (let at = 16; at < 64; at++) {
    const early = words[at - 15] ?? 0;
    const late = words[at - 2] ?? 0;
    const first = ((early >>> 7) | (early << 25)) ^ ((early >>> 18) | (early << 14)) ^ (early >>> 3);
    const second = ((late >>> 17) | (late << 15)) ^ ((late >>> 19) | (late << 13)) ^ (late >>> 10);
    words[at] = (words[at - 16] ?? 0) + first + (words[at - 7] ?? 0) + second;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < 64; at++) {
    const choice = (e & f) ^ (~e & g);
    const turned = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const one = (h + turned + choice + (ROUNDS[at] ?? 0) + (words[at] ?? 0)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const two =
      ((((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  [a, b, c, d, e, f, g, h].forEach((value, at) => {
    state[at] = (state[at] ?? 0) + value;
  });
}

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUNDS = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
  0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
  0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
  0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
  0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
  0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
  0xc67178f2,
];
/** The same of the square roots of the first 8. */
const FIRST = [
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
