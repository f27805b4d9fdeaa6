/** The moment at which a limit resets, from the sentence that states it. A time of day is the next one after `from`. */
export function resetTime(sentence: string, from: number): number | null {
  return epoch(sentence) ?? timestamp(sentence) ?? span(sentence, from) ?? timeOfDay(sentence, from);
}

/** `usage limit reached|1794730286`: seconds since 1970. */
function epoch(sentence: string): number | null {
  const seconds = /\|(\d{10})\b/.exec(sentence)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

/** `resets at 2026-11-15T17:00:00Z` */
function timestamp(sentence: string): number | null {
  const stated = /\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/.exec(sentence)?.[0];
  const at = stated === undefined ? Number.NaN : Date.parse(stated);
  return Number.isNaN(at) ? null : at;
}

// `Retrying in 60s` is the CLI's own retry, not the reset of the limit.
const SPAN =
  /(?<!\bretrying\s+)\b(?:in|after|retry-after:?)\s+((?:\d+(?:\.\d+)?\s*(?:milliseconds?|ms|months?|mo|weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)?[\s,and]*)+)/i;
const PIECE = /(\d+(?:\.\d+)?)\s*(mil|ms|mo|w|d|h|m|s)?/gi;
const MS: Readonly<Record<string, number>> = {
  mo: 30 * 86_400_000,
  w: 7 * 86_400_000,
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  mil: 1,
};

/** `try again in 3 days 4 hours`, `Suggested retry after 38.5s`, `retry-after: 30` */
function span(sentence: string, from: number): number | null {
  const stated = SPAN.exec(sentence)?.[1];
  if (stated === undefined) return null;
  let ms = 0;
  for (const [, amount, unit] of stated.matchAll(PIECE)) {
    ms += Number(amount) * (MS[(unit ?? 's').toLowerCase()] ?? 1000);
  }
  return from + Math.ceil(ms);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const CLOCK =
  /(?:resets?|again|until|available)(?:\s+(?:at|on))?\s+(?:([A-Z][a-z]{2})[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?(?:,?\s+(\d{4}))?,?\s+(?:at\s+)?)?(\d{1,2})(?::(\d\d))?\s*([ap]\.?m\.?)?(?:\s*\(([\w+\-/]+)\)|\s+(UTC|GMT)\b)?/i;

/** `resets 5pm (Europe/Vilnius)`, `try again at 8:04 AM`, `try again at Nov 16th, 2026 8:04 AM` */
function timeOfDay(sentence: string, from: number): number | null {
  const match = CLOCK.exec(sentence);
  if (match === null) return null;
  const [, monthName, day, year, hours = '', minutes = '0', amOrPm, inBrackets, bare] = match;
  if (amOrPm === undefined && !/:\d\d/.test(match[0])) return null;
  const hour = amOrPm === undefined ? Number(hours) : (Number(hours) % 12) + (/^p/i.test(amOrPm) ? 12 : 0);
  if (hour > 23 || Number(minutes) > 59) return null;
  const zone = zoneOf(inBrackets ?? bare);
  const today = dateIn(zone, from);
  const month = monthName === undefined ? -1 : MONTHS.indexOf(monthName.slice(0, 3).toLowerCase());
  const at = { hour, minute: Number(minutes) };
  if (month < 0 || day === undefined) {
    return next(from, (days) => moment({ ...today, day: today.day + days, ...at }, zone));
  }
  const date = { month, day: Number(day), ...at };
  return year === undefined
    ? next(from, (years) => moment({ year: today.year + years, ...date }, zone))
    : moment({ year: Number(year), ...date }, zone);
}

/** The first candidate that is not in the past. A few minutes late still counts, also across midnight. */
function next(from: number, at: (later: number) => number): number {
  return [-1, 0].map(at).find((candidate) => candidate >= from - MAX_LATENESS_MS) ?? at(1);
}

const MAX_LATENESS_MS = 5 * 60_000;

interface WallTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

/** Null means the time zone of this machine, for a sentence without a known zone. */
function zoneOf(name: string | undefined): string | null {
  if (name === undefined) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

function dateIn(zone: string | null, at: number): Pick<WallTime, 'year' | 'month' | 'day'> {
  const { year, month, day } = wallTime(zone, at);
  return { year, month, day };
}

/** The last second of this minute in the zone: the sentence may mean any second of it. */
function moment(wall: WallTime, zone: string | null): number {
  return LAST_SECOND_MS + startOfMinute(wall, zone);
}

const LAST_SECOND_MS = 59_000;

function startOfMinute(wall: WallTime, zone: string | null): number {
  const { year, month, day, hour, minute } = wall;
  if (zone === null) return new Date(year, month, day, hour, minute).getTime();
  const asUtc = Date.UTC(year, month, day, hour, minute);
  // Computed twice, because the first guess may be on the other side of a clock change.
  const guess = asUtc - offset(zone, asUtc);
  return asUtc - offset(zone, guess);
}

/** The offset of the zone from UTC. */
function offset(zone: string, at: number): number {
  const { year, month, day, hour, minute } = wallTime(zone, at);
  return Date.UTC(year, month, day, hour, minute) - Math.floor(at / 60_000) * 60_000;
}

function wallTime(zone: string | null, at: number): WallTime {
  if (zone === null) {
    const date = new Date(at);
    return {
      year: date.getFullYear(),
      month: date.getMonth(),
      day: date.getDate(),
      hour: date.getHours(),
      minute: date.getMinutes(),
    };
  }
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(at);
  const part = (type: string): number =>
    Number(parts.find((candidate) => candidate.type === type)?.value ?? 0);
  return {
    year: part('year'),
    month: part('month') - 1,
    day: part('day'),
    hour: part('hour'),
    minute: part('minute'),
  };
}
