import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SandboxRequest } from './request-shape.ts';
import { answerRequests, ask, takeAnswer } from './requests.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-requests-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const answerAll = (): { readonly asked: readonly SandboxRequest[]; readonly aside: readonly string[] } => {
  const asked: SandboxRequest[] = [];
  const aside = answerRequests(folder, (request) => {
    asked.push(request);
    return { ok: true, text: request.type, summary: null };
  });
  return { asked, aside };
};

it('a request is answered once', () => {
  const id = ask(folder, { type: 'tell', loop: 'a', text: 'hello' });
  expect(takeAnswer(folder, id)).toBeNull();
  expect(answerAll()).toEqual({ asked: [{ type: 'tell', loop: 'a', text: 'hello' }], aside: [] });
  expect(answerAll().asked).toEqual([]);
  expect(takeAnswer(folder, id)).toEqual({ ok: true, text: 'tell', summary: null });
  expect(readdirSync(folder)).toEqual([]);
});

it('what is no request is moved aside and not believed', () => {
  const name = (number: number): string =>
    `${String(number).padStart(15, '0')}-${'0'.repeat(8)}-0000-0000-0000-${'0'.repeat(12)}.json`;
  const texts = [
    '',
    'null',
    '[]',
    '{"type":["tell"]}',
    '{"type":"stop","loop":null}',
    '{"type":"tell","loop":"a","text":" "}',
    '{"type":"tell","loop":"a","text":7}',
    '{"type":"tell","loop":"a","text":"x","more":1}',
    '{"type":"status"}',
    JSON.stringify({ type: 'tell', loop: 'a', text: 'x'.repeat(300_000) }),
  ];
  for (const [index, text] of texts.entries()) writeFileSync(join(folder, name(index)), text);
  writeFileSync(join(folder, 'target'), '{"type":"status","loop":null}');
  symlinkSync(join(folder, 'target'), join(folder, name(90)));
  execFileSync('mkfifo', [join(folder, name(91))]);
  writeFileSync(join(folder, 'x.json'), '{"type":"status","loop":null}');
  const { asked, aside } = answerAll();
  expect(asked).toEqual([]);
  expect(aside).toHaveLength(texts.length + 3);
  expect(answerAll().aside).toEqual([]);
});

it('a folder that is a link is left alone', () => {
  ask(folder, { type: 'status', loop: null });
  const link = `${folder}-link`;
  symlinkSync(folder, link);
  try {
    expect(answerRequests(link, () => ({ ok: true, text: '', summary: null }))).toEqual([]);
    expect(readdirSync(folder)).toHaveLength(1);
  } finally {
    rmSync(link);
  }
});
