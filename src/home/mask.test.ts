import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Mask } from './mask.ts';
import { REDACTED } from '../loop/secrets.ts';

const PEM = '-----BEGIN-----\nabc+def/12345678\n-----END-----';
const env = {
  API_TOKEN: 'tölken-"quoted"',
  DB_PASSWORD: 'hunter2hunter2',
  TLS_SECRET: PEM,
  USER: 'somebody',
};
const mask = new Mask(env, { OTHER_TOKEN: 'hunter2hunter2-longer' });

describe('masking what is shown', () => {
  it('masks values, the longer one first, as text, in JSON and line by line', () => {
    expect(mask.text('a hunter2hunter2-longer b hunter2hunter2 c somebody')).toBe(
      `a ${REDACTED} b ${REDACTED} c somebody`,
    );
    expect(mask.text(JSON.stringify({ a: env.API_TOKEN, b: PEM }))).toBe(
      `{"a":"${REDACTED}","b":"${REDACTED}"}`,
    );
    expect(mask.text('line: abc+def/12345678')).toBe(`line: ${REDACTED}`);
    expect(mask.value({ a: ['x hunter2hunter2'], n: 1, key: null })).toEqual({
      a: [`x ${REDACTED}`],
      n: 1,
      key: null,
    });
  });

  it('masks the beginning of a secret before a cut', () => {
    expect(mask.cutText('echo hunter2hu...')).toBe(`echo ${REDACTED}...`);
    expect(mask.cutText('echo hunter2hunter2')).toBe(`echo ${REDACTED}`);
    expect(mask.cutText('a beach...')).toBe('a beach...');
  });

  it.each(['text', 'bytes'])('gives the same result wherever a stream of %s is cut', (kind) => {
    const text = `begin ${env.API_TOKEN} and hunter2hunter2-longer h hunter hunter2hunter2\nAPI_KEY=abc123def456 Bearer abcdefgh12345678, sk-${'a1b2'.repeat(6)} ü ${PEM} https://bob:secret/12@host https://bob:sec@ret@host/x curl -u bob:swordfish -u 'bob:sword "fish' http://x:80/@y the next token\nend tölk`;
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length + 20 })), (cuts) => {
        const stream = mask.stream();
        const all = kind === 'text' ? text : Buffer.from(text);
        let at = 0;
        const pieces: Buffer[] = [];
        for (const cut of [...cuts.toSorted((a, b) => a - b), all.length]) {
          const piece = typeof all === 'string' ? all.slice(at, cut) : all.subarray(at, cut);
          pieces.push(Buffer.from(stream.read(piece)));
          at = Math.max(at, cut);
        }
        pieces.push(Buffer.from(stream.end()));
        expect(Buffer.concat(pieces).toString()).toBe(mask.text(text));
      }),
    );
    expect(mask.text(text)).not.toMatch(
      /hunter2hunter2|quoted|abc123|abcdefgh|a1b2|12345678|secret|sec@|ret@|sword|fish/,
    );
  });

  it('gives the same result wherever a text is cut before, after or inside of what looks like a key', () => {
    const keys = [
      env.API_TOKEN,
      'token',
      'password',
      ' Bearer',
      'abcdefg0',
      `sk-${'a'.repeat(20)}`,
      '-u ',
      'bob',
    ];
    const between = ['://', ':', '=', '@', '/', '.', '-', '"', ' ', '\t', '\n', 'é'];
    const words = fc.constantFrom(...keys, ...between);
    const size = fc.integer({ min: 1, max: 12 });
    fc.assert(
      fc.property(fc.array(words, { maxLength: 14 }), size, (parts, bytes) => {
        const text = parts.join('');
        const all = Buffer.from(text);
        const stream = mask.stream();
        let shown = '';
        for (let at = 0; at < text.length; at += bytes) shown += stream.read(text.slice(at, at + bytes));
        expect(shown + String(stream.end())).toBe(mask.text(text));
        const whole: Buffer[] = [];
        for (let [from, to] = [0, bytes]; from < all.length; to += bytes) {
          const part = mask.between(all.subarray(0, to), from, to < all.length ? 'middle' : 'end');
          expect(part.from).toBe(from);
          whole.push(part.shown);
          from = part.to;
        }
        expect(Buffer.concat(whole).toString()).toBe(mask.text(text));
      }),
      { numRuns: 1000, examples: [[['token', ' ', ':abcdefg0'], 6]] },
    );
  });

  it('shows an unfinished word after a pause, but not the beginning of a secret', () => {
    const stream = mask.stream();
    expect(stream.read('the caf')).toBe('the ');
    expect(stream.release()).toBe('caf');
    expect(stream.read(' and hunter')).toBe(' and ');
    expect(stream.release()).toBe('');
    expect(stream.read('2hunter2 ')).toBe(`${REDACTED} `);
  });

  it('passes bytes that are no text', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a]);
    const stream = mask.stream();
    expect(Buffer.concat([stream.read(bytes), Buffer.from(stream.end())])).toEqual(bytes);
  });
});

it('an output in which a secret may begin everywhere is shown piece by piece', () => {
  const repeated = new Mask({ API_TOKEN: 'a'.repeat(12) });
  for (const word of ['Bearer ', 'password=', '-u ', 'a'])
    expect(repeated.between(Buffer.from(word.repeat(40_000)), 0, 'middle').to).toBeGreaterThan(10_000);
});
