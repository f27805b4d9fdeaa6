/**
 * The checksum that zlib computes. For short texts by a table, since loading zlib takes longer than most commands take to
 * run; for long ones by zlib itself.
 */
export function crc32(data: string | Buffer, value = 0): number {
  const bytes = typeof data === 'string' ? Buffer.from(data) : data;
  if (bytes.length > LONG) return process.getBuiltinModule('node:zlib').crc32(bytes, value);
  let sum = ~value;
  // Not `for of`: this runs when nothing is compiled yet.
  for (let at = 0; at < bytes.length; at++) sum = (TABLE[(sum ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (sum >>> 8);
  return ~sum >>> 0;
}

const LONG = 16 * 1024;

const TABLE = new Int32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  TABLE[byte] = sum;
}
