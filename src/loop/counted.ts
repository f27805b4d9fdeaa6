/** A number with its noun: `1 iteration`, `2 iterations`. */
export function counted(count: number, noun: string, plural: string = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : plural}`;
}

/** A number and its limit: `3/10`, or `3` without a limit. */
export function ofLimit(count: number, limit: number | null): string {
  return limit === null ? String(count) : `${count}/${limit}`;
}
