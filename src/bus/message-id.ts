/** The id of a new message, which sorts after the last one of its bus, and its time. */
export function nextId(last: string | null, clock: Clock = systemClock): { id: string; ts: string } {
  const now = clock();
  const before = last === null ? null : timeIn(last);
  // Not after an id from the future: its writer may have made it up, and all later ids would follow it.
  const isClose = before !== null && before >= now && before - now < MAX_AHEAD_NS;
  const time = isClose ? before + 1n : now;
  const ts = new Date(Number(time / NS_PER_MS)).toISOString();
  const [day, clockTime] = [ts.slice(0, 10), ts.slice(11, 19)].map((part) => part.replaceAll(/[-:]/g, ''));
  sequence = (sequence + 1) % 10_000;
  const parts = [
    'MSG',
    day,
    clockTime,
    padded(Number(time % 1_000_000_000n), 9),
    `PID${padded(process.pid % 100_000, 5)}`,
    padded(sequence, 4),
  ];
  return { id: parts.join('-'), ts };
}

/** Whether a message is later than another one, or nothing is known about that. */
export function isAfter(id: string, other: string, clock: Clock = systemClock): boolean {
  const [time, before] = [timeIn(id), timeIn(other)];
  if (time === null || before === null || before - clock() > MAX_AHEAD_NS) return id !== other;
  return time === before ? id > other : time > before;
}

/** Nanoseconds since 1970. */
type Clock = () => bigint;

/** Node's clock has milliseconds; the rest only tells ids apart. */
function systemClock(): bigint {
  return BigInt(Date.now()) * NS_PER_MS + (process.hrtime.bigint() % NS_PER_MS);
}

const NS_PER_MS = 1_000_000n;
const MAX_AHEAD_NS = 5_000_000_000n;
let sequence = 0;

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0');
}

/** Null if the id is not one of ours. */
function timeIn(id: string): bigint | null {
  const [, day = '', time = '', ns = ''] = /^MSG-(\d{8})-(\d{6})-(\d{9})-/.exec(id) ?? [];
  const iso = `${day}${time}`.replace(/(....)(..)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5:$6Z');
  const seconds = Date.parse(iso);
  return Number.isNaN(seconds) ? null : BigInt(seconds) * NS_PER_MS + BigInt(ns);
}
