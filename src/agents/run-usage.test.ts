import * as fc from 'fast-check';
import { searchInTime } from '../owner/pattern-search.ts';
import { describe, expect, it } from 'vitest';
import { claude } from './claude.ts';
import { readRun, type ReadContext, type RunReader } from './reader.ts';

const open = (price: ReadContext['price']): RunReader =>
  readRun(
    claude,
    [],
    {
      shown: { offset: 0 },
      startedAt: 0,
      folder: '/nowhere',
      workspaceFolder: '/nowhere',
      argv: ['claude'],
      env: () => ({}),
      session: null,
      price,
      hide: (text) => text,
      search: searchInTime,
    },
    () => {},
  );
const line = (event: object): string => `${JSON.stringify(event)}\n`;

describe('the usage in many messages', () => {
  const price: ReadContext['price'] = (model, tokens) =>
    model === 'unknown' ? null : (tokens.input + 5 * tokens.output) / 1000;
  const message = ({ id, model, output }: Answer): string =>
    line({
      type: 'assistant',
      message: { id, model, content: [], usage: { input_tokens: 10, output_tokens: output } },
    });
  const result = (more: object): string => line({ type: 'result', subtype: 'success', result: 'x', ...more });
  const answers: fc.Arbitrary<Answer> = fc.record({
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    model: fc.constantFrom('known', 'other', 'unknown'),
    output: fc.integer({ min: 1, max: 50 }),
  });
  const streams = fc.array(
    fc.oneof(
      { weight: 5, arbitrary: answers.map(message) },
      fc.nat(50).map((output) => {
        const known = { outputTokens: output, costUSD: output / 10 };
        return result({ model_usage_since_last_result: { known } });
      }),
      fc.nat(50).map((cents) => result({ total_cost_usd: cents / 100 })),
    ),
    { maxLength: 30 },
  );

  it('is the same, however often it is asked for', () => {
    fc.assert(
      fc.property(streams, (events) => {
        const [often, once] = [open(price), open(price)];
        for (const event of events) {
          often.read(Buffer.from(event));
          often.snapshot(false);
        }
        once.read(Buffer.from(events.join('')));
        for (const reader of [often, once]) reader.end();
        expect(once.snapshot(true)).toEqual(often.snapshot(true));
      }),
    );
  });

  it('counts each answer once, with the greatest usage of its messages', () => {
    fc.assert(
      fc.property(fc.array(answers, { minLength: 1, maxLength: 30 }), (events) => {
        const reader = open(price);
        reader.read(Buffer.from(events.map(message).join('')));
        const last = new Map<string, Answer>();
        for (const event of events) {
          const output = Math.max(event.output, last.get(event.id)?.output ?? 0);
          last.set(event.id, { ...event, output });
        }
        const output = [...last.values()].reduce((sum, event) => sum + event.output, 0);
        expect(reader.snapshot(false).tokens).toMatchObject({ input: 10 * last.size, output });
        const priced = [...last.values()].filter(({ model }) => model !== 'unknown');
        const usd = priced.reduce((sum, event) => sum + (10 + 5 * event.output) / 1000, 0);
        // Without a model that has a price, an earlier estimate remains.
        fc.pre(priced.length > 0);
        expect(reader.snapshot(false).cost?.usd).toBeCloseTo(usd, 9);
      }),
    );
  });

  it('is priced once for each snapshot', () => {
    let lookUps = 0;
    const counting: ReadContext['price'] = (...asked) => {
      lookUps++;
      return price(...asked);
    };
    const reader = open(counting);
    for (let count = 0; count < 100; count++)
      reader.read(Buffer.from(message({ id: `m${count}`, model: 'known', output: 1 }).repeat(3)));
    expect(reader.snapshot(false).tokens).toMatchObject({ input: 1000, output: 100 });
    expect(lookUps).toBe(1);
    reader.snapshot(false);
    expect(lookUps).toBe(1);
  });

  it('keeps its estimate if no later model has a price', () => {
    const [known, later] = [open(price), open(price)];
    const first = message({ id: 'a', model: 'known', output: 10 });
    known.read(Buffer.from(first));
    later.read(Buffer.from(first + message({ id: 'a', model: 'unknown', output: 90 })));
    const { cost } = known.snapshot(false);
    expect(later.snapshot(false)).toMatchObject({ cost, tokens: { output: 90 } });
  });
});

interface Answer {
  readonly id: string;
  readonly model: string;
  readonly output: number;
}
