/**
 * The checksum that zlib computes. For short texts by a table, since loading zlib takes longer than most commands take to
 * run; for long ones by zlib itself.
 */
export function crc32(data: string | Buffer, value = 0): number {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  if (bytes.length > LONG) return process.getBuiltinModule('node:zlib').crc32(bytes, value);
  let sum = ~value;
  for (const byte of bytes) sum = (TABLE[(sum ^ byte) & 0xff] ?? 0) ^ (sum >>> 8);
  return ~sum >>> 0;
}

const LONG = 16 * 1024;

const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  return sum;
});
