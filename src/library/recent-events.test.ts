import { expect, it } from 'vitest';
import { RecentEvents, type SeenEvent } from './recent-events.ts';

const text = (words: string): SeenEvent => ({ type: 'text', text: words, message: '', at: 1 });
const words = (event: SeenEvent): string => (event.type === 'text' ? event.text : event.type);

it('keeps 1000 events for late readers and reports how many are missing', async () => {
  const events = new RecentEvents();
  for (let n = 1; n <= 1500; n++) events.push(text(String(n)));
  events.end();
  const seen: SeenEvent[] = [];
  for await (const event of events) seen.push(event);
  expect(seen[0]).toEqual({ type: 'events.missed', count: 500, at: 1 });
  expect(seen.slice(1).map(words)).toEqual(Array.from({ length: 1000 }, (_, n) => String(n + 501)));
});

it('bounds the total length of the kept events', async () => {
  const events = new RecentEvents();
  for (let n = 0; n < 50; n++) events.push(text('x'.repeat(1024 * 1024)));
  events.end();
  let kept = 0;
  for await (const { type } of events) if (type === 'text') kept++;
  expect(kept).toBeLessThan(9);
  expect(kept).toBeGreaterThan(4);
});

it('delivers every event to every reader', async () => {
  const events = new RecentEvents();
  const read = async (): Promise<string> => {
    let seen = '';
    for await (const event of events) seen += words(event);
    return seen;
  };
  const readers = [read(), read()];
  for (const letter of 'abc') {
    events.push(text(letter));
    // oxlint-disable-next-line no-await-in-loop -- one at a time
    await Promise.resolve();
  }
  readers.push(read());
  events.end();
  expect(await Promise.all(readers)).toEqual(['abc', 'abc', 'abc']);
});
