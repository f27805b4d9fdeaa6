/** A number with its noun: `1 iteration`, `2 iterations`. */
export function counted(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** A number and its limit: `3/10`, or `3` without a limit. */
export function ofLimit(count: number, limit: number | null): string {
  return limit === null ? String(count) : `${count}/${limit}`;
}

/** A time as document 000 writes it: `300ms`, `1.5s`, `5m0s`, `1h0m0s`. */
export function exactDuration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const [hours, minutes] = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60];
  const seconds = `${(ms % 60_000) / 1000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

/** A number of bytes as people read it: `500 bytes`, `20 KB`, `1.5 GB`. */
export function sizeText(bytes: number): string {
  const unit = UNITS.findLast(({ size }) => bytes >= size);
  return unit === undefined
    ? counted(bytes, 'byte')
    : `${Number((bytes / unit.size).toFixed(1))} ${unit.name}`;
}

const UNITS = [
  { name: 'KB', size: 2 ** 10 },
  { name: 'MB', size: 2 ** 20 },
  { name: 'GB', size: 2 ** 30 },
];
