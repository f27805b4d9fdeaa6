import { createHmac } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { given, plain } from '../../test/rig/given.ts';
import { HookServer } from '../../test/rig/hook-server.ts';
import type { NoticeTarget } from '../home/spec.ts';
import { NOTICE_KINDS, type Notice } from '../loop/notice.ts';
import { toldNotice } from '../text/notices.ts';
import { Outbox } from './outbox.ts';
import { readOutbox } from './outbox-file.ts';

let server: HookServer;
let folder: string;
let warnings: string[];
beforeEach(async () => {
  server = new HookServer();
  await server.starts();
  folder = mkdtempSync(join(tmpdir(), 'outbox-'));
  warnings = [];
});
afterEach(async () => {
  await server.stops();
  rmSync(folder, { recursive: true, force: true });
});

const target: NoticeTarget = { name: 'ops', kind: 'address', events: NOTICE_KINDS, timeoutMs: 400 };
const state = given(plain);

function notice(number: number, text = 'because'): Notice {
  return { kind: 'loop.set-aside', number, at: Date.now(), about: text, event: null, state };
}

function outbox(
  more: Partial<NoticeTarget> = {},
  secret = { address: `${server.url}hook/abc`, key: 'a key' },
): Outbox {
  const path = join(folder, 'notices.json');
  const place = {
    path,
    targets: [{ ...target, ...more }],
    secrets: { ops: secret },
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '' },
    tell: (one: Notice) => toldNotice({ id: 'l-1', name: 'l', workspace: folder }, one),
    warn: (line: string) => void warnings.push(line),
  };
  return new Outbox(place, readOutbox(path));
}

async function sends(box: Outbox, ...numbers: readonly number[]): Promise<void> {
  box.open();
  box.take(
    numbers.map((number) => notice(number)),
    9,
    {},
  );
  await box.finished();
  expect(await box.close(0)).toBe(true);
}

const ids = (...numbers: readonly number[]): readonly string[] =>
  numbers.map((number) => `l-1.${number}.loop.set-aside`);

describe('a webhook', () => {
  it('gets JSON with a signature that its key verifies', async () => {
    await sends(outbox(), 1);
    const [post] = server.posts;
    const signature = createHmac('sha256', 'a key')
      .update(post?.body ?? '')
      .digest('hex');
    expect(post).toMatchObject({ path: '/hook/abc', id: ids(1)[0] });
    expect(post?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-ralph-notice': ids(1)[0],
      'x-ralph-signature-256': `sha256=${signature}`,
    });
  });

  it('gets every notice in order, although it fails, hangs or closes, and no one twice that it has answered', async () => {
    server.answers.push(500, 'answers twice', 200, 'closes', 200, 'hangs', 503);
    await sends(outbox(), 1, 2, 3, 4);
    // Again after 500, after the end of the connection, after the time limit and after 503.
    expect(server.ids).toEqual(ids(1, 1, 2, 3, 3, 4, 4, 4));
    expect(readOutbox(join(folder, 'notices.json'))?.targets['ops']).toEqual({
      sent: { number: 4, kind: 'loop.set-aside' },
      waiting: 0,
    });
    expect(warnings[0]).toBe('warning: notice to ops failed: HTTP 500; the loop continues');
  });

  it('is given up where no attempt helps, and its redirect is not followed', async () => {
    server.answers.push(404, 'redirects', 200);
    await sends(outbox(), 1, 2, 3);
    expect(server.posts.map(({ path }) => path)).toEqual(Array.from({ length: 3 }, () => '/hook/abc'));
    const record = readOutbox(join(folder, 'notices.json'))?.targets['ops'];
    expect(record?.problem).toMatchObject({ why: 'HTTP 302: Ralph follows no redirect', lost: ids(2)[0] });
  });

  it('does not keep its loop: what it does not take in time waits for the next owner, without the address', async () => {
    server.answers.push('hangs');
    const box = outbox({ timeoutMs: 60_000 });
    box.open();
    box.take([notice(1), notice(2)], 2, {});
    const before = performance.now();
    expect(await box.close(100)).toBe(false);
    expect(performance.now() - before).toBeLessThan(1500);
    expect(readFileSync(join(folder, 'notices.json'), 'utf8')).not.toContain('abc');
    await sends(outbox(), 1, 2);
    // Only the one that was on its way is repeated.
    expect(server.ids).toEqual(ids(1, 1, 2));
    await sends(outbox(), 1, 2, 3);
    expect(server.ids).toEqual(ids(1, 1, 2, 3));
  });
});

describe('other channels', () => {
  it('Slack and ntfy get their own JSON, and the token of ntfy', async () => {
    await sends(outbox({}, { address: `slack+${server.url}services/x`, key: '' }), 1);
    rmSync(join(folder, 'notices.json'));
    await sends(outbox({}, { address: `ntfy+${server.url}base/my-topic`, key: 'tk_1' }), 1);
    expect(server.posts.map(({ path }) => path)).toEqual(['/services/x', '/base/']);
    expect(server.posts[0]?.body).toMatch(/^\{"text":"\*l: set aside\*\\nbecause\\nralph resume l /);
    expect(JSON.parse(server.posts[1]?.body ?? '')).toMatchObject({
      topic: 'my-topic',
      title: 'l: set aside',
      priority: 4,
    });
    expect(server.posts[1]?.headers['authorization']).toBe('Bearer tk_1');
  });

  it('a command gets hostile text in its environment and on stdin, and no shell reads it', async () => {
    const hostile = '$(touch hacked) `touch hacked`; touch hacked #"\'\n--flag';
    const box = outbox({
      kind: 'command',
      command: 'printf %s "$RALPH_NOTICE_TEXT" >text; cat >json',
      timeoutMs: 5000,
    });
    box.open();
    box.take([notice(1, hostile)], 1, {});
    await box.finished();
    await box.close(0);
    expect(readFileSync(join(folder, 'text'), 'utf8')).toBe(hostile);
    expect(JSON.parse(readFileSync(join(folder, 'json'), 'utf8'))).toMatchObject({
      text: hostile,
      id: ids(1)[0],
    });
    expect(() => readFileSync(join(folder, 'hacked'))).toThrow(/ENOENT/);
  });

  it('a command that ignores SIGTERM does not keep its loop', async () => {
    const box = outbox({
      kind: 'command',
      command: 'trap "" TERM; echo >began; sleep 20',
      timeoutMs: 30_000,
    });
    box.open();
    box.take([notice(1)], 1, {});
    await expect.poll(() => existsSync(join(folder, 'began'))).toBe(true);
    const before = performance.now();
    expect(await box.close(0)).toBe(false);
    expect(performance.now() - before).toBeLessThan(5000);
  });

  it('a notice for the desktop is given up where the program is missing', async () => {
    const place = outbox({ kind: 'desktop' });
    await sends(place, 1);
    const problem = readOutbox(join(folder, 'notices.json'))?.targets['ops']?.problem;
    expect(problem?.why).toMatch(/^(?:notify-send|osascript) (?:is not installed|failed)$/);
  });
});
