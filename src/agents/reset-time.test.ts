import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { resetTime } from './reset-time.ts';

const utc = (text: string): number => Date.parse(`${text}:00Z`);
/** A moment in the time zone of this machine. */
const here = (...at: readonly [number, number, number, number, number]): number => new Date(...at).getTime();
/** A stated minute may mean any second of it. */
const last = (text: string): number => utc(text) + 59_000;
const lastHere = (...at: Parameters<typeof here>): number => here(...at) + 59_000;
const MORNING = utc('2026-11-15T07:00');

describe('the reset time of a limit', () => {
  it.each([
    ["You've hit your 5-hour limit · resets 8:11am (UTC)", last('2026-11-15T08:11')],
    ['You’ve hit your limit · resets 5pm (Europe/Vilnius)', last('2026-11-15T15:00')],
    ['resets 12pm (UTC)', last('2026-11-15T12:00')],
    ['resets 12am (UTC)', last('2026-11-16T00:00')],
    ['resets 12:30 a.m. (UTC)', last('2026-11-16T00:30')],
    ['resets at 17:05 UTC', last('2026-11-15T17:05')],
    ['resets at 17:05 (UTC)', last('2026-11-15T17:05')],
    ['resets Nov 20 at 5pm (UTC)', last('2026-11-20T17:00')],
    ['resets November 20, 5pm (UTC)', last('2026-11-20T17:00')],
    ['resets Jan 2, 5pm (UTC)', last('2027-01-02T17:00')],
    ['Your limit resets at 2026-11-15T17:00:00Z', utc('2026-11-15T17:00')],
    ['available again at 2026-11-15T19:00+02:00', utc('2026-11-15T17:00')],
    ['Claude AI usage limit reached|1794730286', 1_794_730_286_000],
  ])('%s', (sentence, expected) => {
    expect(resetTime(sentence, MORNING)).toBe(expected);
  });

  it.each([
    ['retry-after: 30', 30_000],
    ['Suggested retry after 1s', 1000],
    ['Suggested retry after 1s.. Retrying after 5886ms...', 1000],
    ['Please retry in 34.074824224s.', 34_075],
    ['try again in 250 ms', 250],
    ['Your quota will reset after 18h38m26s.', 67_106_000],
    ['try again in 3 days 4 hours', 273_600_000],
    ['try again in 1 day, 2 hours and 3 minutes', 93_780_000],
    ['try again in 5 minutes', 300_000],
    ['try again in 1 week', 604_800_000],
    ['try again in 2 months', 5_184_000_000],
  ])('%s, relative to the start of the run', (sentence, expected) => {
    expect(resetTime(sentence, MORNING)).toBe(MORNING + expected);
  });

  it('is in the time zone of this machine if none is stated', () => {
    const from = here(2026, 10, 15, 7, 0);
    const codex =
      'visit https://chatgpt.com/settings/usage to purchase more credits or try again at 8:04 AM.';
    expect(resetTime(codex, from)).toBe(lastHere(2026, 10, 15, 8, 4));
    expect(resetTime('try again at Nov 16th, 2026 8:04 AM', from)).toBe(lastHere(2026, 10, 16, 8, 4));
    expect(resetTime('try again at 6:30 AM', from)).toBe(lastHere(2026, 10, 16, 6, 30));
  });

  it('is in the time zone of this machine if the stated one is unknown', () => {
    expect(resetTime('resets 5pm (Mars/Olympus)', here(2026, 10, 15, 9, 0))).toBe(
      lastHere(2026, 10, 15, 17, 0),
    );
    expect(resetTime('resets 5pm (+99)', here(2026, 10, 15, 9, 0))).toBe(lastHere(2026, 10, 15, 17, 0));
  });

  it.each([
    // Past midnight there but not in UTC, and vice versa.
    ['resets 1am (Europe/Vilnius)', '2026-11-15T21:30', '2026-11-15T23:00'],
    ['resets 11pm (America/New_York)', '2026-11-16T02:00', '2026-11-16T04:00'],
    ['resets 1am (Asia/Kolkata)', '2026-11-15T07:00', '2026-11-15T19:30'],
    ['resets 5:30am (Asia/Kolkata)', '2026-12-31T23:00', '2027-01-01T00:00'],
    // The clocks go back in the night.
    ['resets 5am (Europe/Vilnius)', '2026-10-24T20:00', '2026-10-25T03:00'],
    ['resets 5am (America/New_York)', '2026-11-01T03:00', '2026-11-01T10:00'],
    // The clocks go forward in the night.
    ['resets 5am (Europe/Vilnius)', '2026-03-28T22:00', '2026-03-29T02:00'],
    ['resets 5am (America/New_York)', '2026-03-08T04:00', '2026-03-08T09:00'],
    // There is no clock change.
    ['resets 5am (Asia/Kolkata)', '2026-10-24T20:00', '2026-10-24T23:30'],
  ])('%s, stated at %s', (sentence, from, expected) => {
    expect(resetTime(sentence, utc(from))).toBe(last(expected));
  });

  it.each([
    ['resets 8:11am (UTC)', '2026-11-15T08:12', '2026-11-15T08:11'],
    ['resets 8:11am (UTC)', '2026-11-15T09:30', '2026-11-16T08:11'],
    ['resets 11:59pm (UTC)', '2026-11-16T00:01', '2026-11-15T23:59'],
    ['resets 11:59pm (UTC)', '2026-11-16T00:30', '2026-11-16T23:59'],
    ['resets Dec 31, 11:59pm (UTC)', '2027-01-01T00:01', '2026-12-31T23:59'],
  ])('%s, stated at %s: minutes ago means today, an hour ago means tomorrow', (sentence, from, expected) => {
    expect(resetTime(sentence, utc(from))).toBe(last(expected));
  });

  it('is off by at most an hour for a time that a clock change skips or repeats', () => {
    const leftOut = resetTime('resets 3:30am (Europe/Vilnius)', utc('2026-03-29T00:00')) ?? 0;
    expect(Math.abs(leftOut - utc('2026-03-29T01:00'))).toBeLessThanOrEqual(1_860_000);
    const twice = resetTime('resets 1:30am (America/New_York)', utc('2026-11-01T04:00'));
    expect([last('2026-11-01T05:30'), last('2026-11-01T06:30')]).toContain(twice);
  });

  it.each([
    'You have exhausted your daily quota on this model.',
    'The usage limit has been reached',
    'Model provider overloaded. Try again in a few seconds.',
    'Retrying in 60s (attempt 1/10): [API Error: 429 The usage limit has been reached]',
    'Attempt 1 failed: quota exceeded. Retrying after 5886ms...',
    'resets 5',
    'resets 25:00 (UTC)',
    'resets 8:75am (UTC)',
    'resets soon (Europe/Vilnius)',
    '',
  ])('is unknown: %s', (sentence) => {
    expect(resetTime(sentence, MORNING)).toBeNull();
  });

  it('is the next moment at which a clock in the zone shows the time', () => {
    const zones = ['UTC', 'Europe/Vilnius', 'America/New_York', 'Asia/Kolkata', 'Pacific/Chatham'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        // No clock change skips these hours.
        fc.integer({ min: 5, max: 23 }),
        fc.integer({ min: 0, max: 59 }),
        fc.integer({ min: utc('2026-01-01T00:00'), max: utc('2027-12-31T00:00') }),
        (zone, hour, minute, from) => {
          const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
          const at = resetTime(`resets at ${clock} (${zone})`, from) ?? 0;
          const shown = new Intl.DateTimeFormat('en-GB', {
            timeZone: zone,
            hour: '2-digit',
            minute: '2-digit',
          });
          expect(shown.format(at)).toBe(clock);
          expect(at - from).toBeGreaterThanOrEqual(-5 * 60_000);
          expect(at - from).toBeLessThanOrEqual(25 * 3_600_000);
        },
      ),
      { numRuns: 300 },
    );
  });
});
