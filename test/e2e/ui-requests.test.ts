/** What `ralph ui` answers, and what it refuses, as a real server: no browser is needed to forge a header. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text as bodyOf } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asPage, liveUntil, refOf, startUi, type Sent, type Ui } from '../rig/cli/ui.ts';
import type { LiveLine } from '../../src/web/live.ts';
import { claims } from '../rig/cli/first-turn.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';

const LIST = JSON.stringify({ verb: 'list', args: [{ workspace: null }] });
let rig: Rig;
let ui: Ui;
beforeAll(async () => {
  rig = await setUpRig();
  ui = await startUi(rig);
});
afterAll(async () => {
  ui.program.signal('SIGINT');
  await ui.program.ended;
  await rig.tearDown();
});

describe('ralph ui answers', () => {
  it('its page, with a policy that allows nothing from elsewhere, and no cookie', async () => {
    const { status, headers, body } = await asPage(ui, {
      method: 'GET',
      path: '/',
      headers: { 'sec-fetch-site': 'none' },
    });
    expect(status).toBe(200);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'self'; .*trusted-types 'none'$/,
    );
    expect(headers['x-frame-options']).toBe('DENY');
    expect(headers['set-cookie']).toBeUndefined();
    expect(body).not.toContain(ui.token);
    expect(body).not.toMatch(/https?:\/\//);
  });

  it('a request with everything that the page sends', async () => {
    await rig.does('run', 'a task', '--name', 'listed', '--', 'echo', '<promise>DONE</promise>');
    const { status, body } = await asPage(ui, { body: LIST });
    expect(status).toBe(200);
    expect(JSON.parse(body)).toMatchObject({ ok: true, value: [{ name: 'listed', status: 'done' }] });
  });

  it.runIf(process.platform === 'linux')('only on 127.0.0.1', () => {
    const sockets = readFileSync('/proc/net/tcp', 'utf8');
    const port = ui.port.toString(16).toUpperCase().padStart(4, '0');
    expect(sockets).toContain(`0100007F:${port} `);
    expect(sockets).not.toContain(`00000000:${port} `);
  });
});

describe('ralph ui refuses with 403', () => {
  const forged: readonly (readonly [string, Sent])[] = [
    ['a foreign host', { headers: { host: 'evil.test' } }],
    ['another name of this machine', { headers: { host: 'localhost' } }],
    ['the host without its port', { headers: { host: '127.0.0.1' } }],
    ['no token', { headers: { authorization: undefined } }],
    ['a wrong token', { headers: { authorization: 'Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' } }],
    ['a foreign origin', { headers: { origin: 'http://evil.test' } }],
    ['the origin of a file', { headers: { origin: 'null' } }],
    ['no origin', { headers: { origin: undefined } }],
    ['another port', { headers: { 'sec-fetch-site': 'same-site' } }],
    ['a foreign site', { headers: { 'sec-fetch-site': 'cross-site' } }],
    ['an address that was typed', { headers: { 'sec-fetch-site': 'none' } }],
    ['no word about the site', { headers: { 'sec-fetch-site': undefined } }],
    ['a form', { headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
    ['plain text', { headers: { 'content-type': 'text/plain' } }],
    ['JSON with more', { headers: { 'content-type': 'application/json; boundary=x' } }],
    ['PUT', { method: 'PUT' }],
    ['DELETE', { method: 'DELETE' }],
    ['a preflight', { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } }],
    ['HEAD', { method: 'HEAD', path: '/' }],
  ];
  const paths = ['/api', '/live'];
  it.each(forged.flatMap(([what, sent]) => paths.map((path) => [what, path, sent] as const)))(
    '%s at %s',
    async (_, path, sent) => {
      const { status, body, headers } = await asPage(ui, { path, body: LIST, ...sent });
      expect(status).toBe(403);
      expect(body).not.toContain('"ok"');
      expect(headers['access-control-allow-origin']).toBeUndefined();
    },
  );

  it.each([
    ['the page for a link on another site', '/', 'cross-site'],
    ['the page for a link on another port', '/', 'same-site'],
    ['a script for another port', 'script', 'same-site'],
    ['a script for an address that was typed', 'script', 'none'],
    ['a guessed place of --open', '/open/AAAAAAAAAAAAAAAAAAAAAA', 'cross-site'],
  ])('%s', async (_, what, site) => {
    const shell = await asPage(ui, { method: 'GET', path: '/' });
    const path = what === 'script' ? (/src="([^"]+)"/.exec(shell.body)?.[1] ?? '') : what;
    expect((await asPage(ui, { method: 'GET', path })).status).toBe(what.startsWith('/open') ? 404 : 200);
    expect((await asPage(ui, { method: 'GET', path, headers: { 'sec-fetch-site': site } })).status).toBe(403);
  });

  it('another host in the first line of a request', async () => {
    const socket = connect(ui.port, '127.0.0.1');
    socket.end(
      `GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\nSec-Fetch-Site: none\r\nConnection: close\r\n\r\n`,
    );
    expect(await bodyOf(socket)).toMatch(/^HTTP\/1\.1 403 /);
  });
});

describe('ralph ui', () => {
  it.each([
    ['a file outside of the page', '/../package.json', 404],
    ['an encoded path', '/assets/..%2f..%2f..%2fpackage.json', 404],
    ['a list of files', '/assets/', 404],
  ])('serves no %s', async (_, path, status) => {
    expect((await asPage(ui, { method: 'GET', path })).status).toBe(status);
  });

  it.each([
    ['no JSON', 'x'],
    ['an unknown verb', '{"verb":"constructor","args":[]}'],
    ['a verb that the page does not use', '{"verb":"move","args":["/a","/b"]}'],
    ['wrong arguments', '{"verb":"list","args":[{"workspace":3}]}'],
  ])('says that %s is no request of the page', async (_, body) => {
    const { status, body: said } = await asPage(ui, { body });
    expect(status).toBe(400);
    expect(JSON.parse(said)).toMatchObject({ ok: false, message: 'this is no request of the page' });
  });

  it('refuses a request that is too large', async () => {
    const { status } = await asPage(ui, {
      body: JSON.stringify({ verb: 'list', args: ['x'.repeat(300_000)] }),
    });
    expect(status).toBe(413);
  });

  it('reads no file outside of a loop', async () => {
    await rig.does('run', 'a task', '--name', 'read', '--', 'echo', '<promise>DONE</promise>');
    writeFileSync(join(rig.folder, 'secret'), 'SECRET');
    const loop = refOf(rig, 'read');
    const outputs = [
      ['../../../secret', 'stdout'],
      ['1.1', { check: '../../../../../secret' }],
      ['1.1', '../../secret'],
    ];
    for (const [run, what] of outputs) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { body } = await asPage(ui, {
        body: JSON.stringify({ verb: 'output', args: [loop, run, what, { from: 0 }] }),
      });
      expect(body).toContain('"ok":false');
      expect(body).not.toContain('SECRET');
    }
    const elsewhere = { ...loop, id: '../../../secret' };
    expect((await asPage(ui, { body: JSON.stringify({ verb: 'get', args: [elsewhere] }) })).status).toBe(400);
  });

  it('refuses a port that is in use, and one that is none', async () => {
    const { code, stderr } = await rig.ralph(['ui', '--port', String(ui.port)]).ended;
    expect(code).toBe(2);
    expect(stderr).toContain(`port ${ui.port} of 127.0.0.1 is in use; choose another with --port`);
    const none = await rig.does('ui', '--port', '70000');
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringContaining('--port must be a number from 1 to 65535, got "70000"'),
    ]);
  });

  it('is refused inside a run', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'inside', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    const inside = await rig.ralph(['ui'], { env: { RALPH_RUN_ID: turn.env['RALPH_RUN_ID'] ?? '' } }).ended;
    expect(inside.code).toBe(2);
    expect(inside.stderr).toContain('"ralph ui" is refused inside a run');
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    await program.ended;
  });
});

describe('the stream of a loop', () => {
  type ToldLine = Extract<LiveLine, { is: 'told' }>;
  const toldIn = (lines: readonly LiveLine[]): readonly ToldLine[] =>
    lines.filter((line): line is ToldLine => line.is === 'told');
  const wordsIn = (lines: readonly LiveLine[]): string =>
    toldIn(lines)
      .flatMap(({ told }) => told)
      .flatMap((one) => (one.is === 'agent' ? [JSON.stringify(one.event)] : []))
      .join('\n');

  it('goes on after a lost connection where it was, without a gap and without a repeat', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'lost', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('lost').journals('run.started');
    const want = { key: 'k', loop: refOf(rig, 'lost') };
    await turn.prints('the first words\n');
    const before = await liveUntil(
      ui,
      { list: null, loops: [{ ...want, from: 'snapshot' }] },
      'the first words',
    );
    await turn.prints('meanwhile\n');
    const from = toldIn(before).at(-1)?.next ?? 'snapshot';
    await turn.prints('the last words\n');
    const after = await liveUntil(ui, { list: null, loops: [{ ...want, from }] }, 'the last words');
    expect(wordsIn(before).match(/the first words|meanwhile|the last words/g)).toEqual(['the first words']);
    expect(wordsIn(after).match(/the first words|meanwhile|the last words/g)).toEqual([
      'meanwhile',
      'the last words',
    ]);
    await claims(turn);
    await program.ended;
  });

  it('begins with the last piece of a long output', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'long', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('long').journals('run.started');
    for (let piece = 0; piece < 20; piece++)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await turn.prints(`${'a line of a long output\n'.repeat(8000)}piece ${piece}\n`);
    await turn.prints('the last words\n');
    const loop = refOf(rig, 'long');
    const wants = { list: null, loops: [{ key: 'k', loop, from: 'snapshot' as const }] };
    const lines = await liveUntil(ui, wants, 'the last words');
    expect(toldIn(lines)[0]?.skipped).toBeGreaterThan(0);
    expect(wordsIn(lines).length).toBeLessThan(1_500_000);
    await claims(turn);
    await program.ended;
  });
});

it('ralph ui --read-only shows loops and refuses to change them', async () => {
  const program = rig.ralph(['run', 'task', '--name', 'shown', '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  const loop = refOf(rig, 'shown');
  const reader = await startUi(rig, '--read-only');
  expect((await asPage(reader, { body: LIST })).body).toContain('"ok":true');
  const changes = [
    { verb: 'send', args: [loop, { type: 'stop', now: true, by: 'person' }] },
    { verb: 'resume', args: [loop, { limits: {}, now: false, env: {}, detach: true }] },
    { verb: 'rewind', args: [loop, 'start'] },
  ];
  for (const change of changes)
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect((await asPage(reader, { body: JSON.stringify(change) })).body).toContain('--read-only');
  expect(rig.loop('shown').all('control.received')).toEqual([]);
  reader.program.signal('SIGINT');
  expect((await reader.program.ended).code).toBe(130);
  await turn.prints('<promise>DONE</promise>\n');
  await turn.exits(0);
  await program.ended;
});

it('ralph ui --open leads there by a file that only the user can read, once, and removes it', async () => {
  const log = join(rig.folder, 'opened');
  writeFileSync(join(rig.folder, 'xdg-open'), `#!/bin/sh\nprintf '%s' "$1" > ${log}\n`, { mode: 0o755 });
  const path = `${rig.folder}:${rig.env['PATH'] ?? ''}`;
  const program = rig.ralph(['ui', '--open'], { env: { PATH: path, TMPDIR: rig.folder } });
  const file = await until('the file', () => {
    try {
      return readFileSync(log, 'utf8') || null;
    } catch {
      return null;
    }
  });
  const [, port = '', token = ''] = /127\.0\.0\.1:(\d+)\/#token=([\w-]+)/.exec(program.said) ?? [];
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(file).not.toContain(token);
  const [, place = '', given] =
    /127\.0\.0\.1:\d+(\/open\/[\w-]+)#token=([\w-]+)/.exec(readFileSync(file, 'utf8')) ?? [];
  expect(given).toBe(token);
  const opened = { ...ui, port: Number(port), origin: `http://127.0.0.1:${port}`, token };
  const fromFile = { method: 'GET', path: place, headers: { 'sec-fetch-site': 'cross-site' } };
  expect((await asPage(opened, fromFile)).status).toBe(200);
  expect((await asPage(opened, fromFile)).status).toBe(403);
  program.signal('SIGTERM');
  expect((await program.ended).code).toBe(143);
  expect(readdirSync(rig.folder).filter((name) => name.startsWith('ralph-ui-'))).toEqual([]);
});
