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

/** `42s`, `3m42s`, `1h15m`, with `separator` between the parts. */
export function duration(ms: number, separator = ''): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${separator}${seconds % 60}s`;
  return `${Math.floor(minutes / 60)}h${separator}${minutes % 60}m`;
}

/** A time as a setting: `90s`, `15m` or `2h`, in the largest unit without a remainder. */
export function durationText(ms: number): string {
  if (ms > 0 && ms % 3_600_000 === 0) return `${ms / 3_600_000}h`;
  if (ms > 0 && ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/** A number of bytes as a setting: `500m` or `1g`, in the largest unit without a remainder. */
export function sizeSetting(bytes: number): string {
  const unit = UNITS.findLast(({ size }) => bytes > 0 && bytes % size === 0);
  return unit === undefined ? String(bytes) : `${bytes / unit.size}${unit.name.slice(0, 1).toLowerCase()}`;
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

/** The first names, and how many more there are: `a, b and 3 more`. */
export function withMore(names: readonly string[], more: number): string {
  return `${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

/** The same for all names, of which `max` are said. */
export function shortList(names: readonly string[], max: number): string {
  return withMore(names.slice(0, max), Math.max(0, names.length - max));
}
