import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { answerRequests, ask, takeAnswer } from './requests.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-requests-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const answerAll = (): { readonly asked: readonly unknown[]; readonly aside: readonly string[] } => {
  const asked: unknown[] = [];
  const aside = answerRequests(folder, (request) => {
    if (typeof request !== 'object' || request === null || !('verb' in request)) return null;
    asked.push(request);
    return Promise.resolve({ ok: true, value: request.verb });
  });
  return { asked, aside };
};

it('a request is answered once', async () => {
  const id = ask(folder, { verb: 'find', args: ['a'] });
  expect(takeAnswer(folder, id)).toBeNull();
  expect(answerAll()).toEqual({ asked: [{ verb: 'find', args: ['a'] }], aside: [] });
  expect(answerAll().asked).toEqual([]);
  await setImmediate();
  expect(takeAnswer(folder, id)).toEqual({ ok: true, value: 'find' });
  expect(readdirSync(folder)).toEqual([]);
});

it('what cannot be read is moved aside and not believed', () => {
  const name = (number: number): string =>
    `${String(number).padStart(15, '0')}-${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}.json`;
  const request = '{"verb":"find","args":["a"]}';
  const texts = ['', 'null', '[]', '{"args":[]}', JSON.stringify({ verb: 'x'.repeat(300_000), args: [] })];
  for (const [index, text] of texts.entries()) writeFileSync(join(folder, name(index)), text);
  writeFileSync(join(folder, 'target'), request);
  symlinkSync(join(folder, 'target'), join(folder, name(90)));
  execFileSync('mkfifo', [join(folder, name(91))]);
  writeFileSync(join(folder, 'x.json'), request);
  const { asked, aside } = answerAll();
  expect(asked).toEqual([]);
  expect(aside).toHaveLength(texts.length + 3);
  expect(answerAll().aside).toEqual([]);
});

it('a folder that is a link is left alone', () => {
  ask(folder, { verb: 'find', args: ['a'] });
  const link = `${folder}-link`;
  symlinkSync(folder, link);
  try {
    expect(answerRequests(link, () => Promise.resolve({ ok: true, value: null }))).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(1);
  } finally {
    rmSync(link);
  }
});
