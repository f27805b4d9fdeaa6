/** CRC-32 as zlib computes it. Short data uses a table, since loading zlib takes longer. */
export function crc32(data: string | Buffer, value = 0): number {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  if (bytes.length > USE_ZLIB_ABOVE) return process.getBuiltinModule('node:zlib').crc32(bytes, value);
  let sum = ~value;
  // `for of` is slower here, because this runs before the code is optimized.
  for (let at = 0; at < bytes.length; at++) sum = (TABLE[(sum ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (sum >>> 8);
  return ~sum >>> 0;
}

const USE_ZLIB_ABOVE = 16 * 1024;

const TABLE = new Int32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  TABLE[byte] = sum;
}
