import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { request, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as bodyOf } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { servePage } from '../../examples/http-page.ts';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

const KEY = 'abcdefgh12345678';
let rig: Rig;
let server: Server;
let at: string;
beforeEach(async () => {
  rig = await setUpRig();
  vi.stubEnv('XDG_STATE_HOME', rig.env['XDG_STATE_HOME']);
  vi.stubEnv('HOME', rig.env['HOME']);
  vi.stubEnv('THE_API_KEY', KEY);
  server = servePage(0);
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a server that listens on a port
  const { port } = server.address() as AddressInfo;
  at = `http://127.0.0.1:${port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  vi.unstubAllEnvs();
  await rig.tearDown();
});

interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `fetch` sets the headers itself that matter here. */
async function ask(
  path: string,
  { headers = {}, body }: Asked = {},
): Promise<{ status: number; html: string }> {
  const sent = request(`${at}${path}`, { method: body === undefined ? 'GET' : 'POST', headers });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, html: await bodyOf(response) };
}

it('examples/http-page.ts lists loops, shows one, and sends it a message and a stop', async () => {
  const program = rig.ralph(['run', 'task', '--name', 'a', '--tag', '<b>x</b>', '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  expect(server.address()).toMatchObject({ address: '127.0.0.1' });
  const list = await ask('/');
  expect(list.status).toBe(200);
  expect(list.html).toContain('&#60;b&#62;x&#60;/b&#62;');
  const [, link = ''] = /href="([^"]*)"/.exec(list.html) ?? [];
  const loop = link.replaceAll('&#38;', '&');
  const shown = await ask(loop);
  expect(shown.html).toContain('Status: running');
  expect(shown.html).toContain('starting iteration 1');

  const headers = { origin: at };
  const told = await ask(loop, { headers, body: `tell=${encodeURIComponent(`<script> ${KEY}`)}` });
  expect(told.html).toContain('<pre>sent</pre>');
  const message = await rig.loop('a').journals('control.received');
  expect(JSON.stringify(message)).toContain('<script>');
  const after = (await ask(loop)).html;
  expect(after).not.toContain('<script>');
  expect(after).not.toContain(KEY);

  // Another site in the same browser, by its own name and by one that leads here.
  expect((await ask(loop, { headers: { origin: 'http://evil.test' }, body: 'stop=' })).status).toBe(403);
  expect((await ask(loop, { body: 'stop=' })).status).toBe(403);
  expect((await ask('/', { headers: { host: 'evil.test' } })).status).toBe(403);
  const unknown = await ask('/loop?name=%3Cb%3E');
  expect(unknown.status).toBe(404);
  expect(unknown.html).not.toContain('<b>');
  expect(rig.loop('a').all('control.received')).toHaveLength(1);

  expect((await ask(loop, { headers, body: '' })).status).toBe(200);
  await turn.exits(0);
  const end = await program.ended;
  exits(end, 130);
  expect((await ask(loop)).html).toContain('Status: stopped');
});

it('examples/http-page.ts needs nothing of Ralph but the hall and its words', () => {
  const folder = new URL('../../examples/', import.meta.url);
  expect(readdirSync(folder)).toContain('http-page.ts');
  const source = readFileSync(new URL('http-page.ts', folder), 'utf8');
  const imported = [...source.matchAll(/from '([^']+)'/g)].map(([, path = '']) => path);
  expect(imported.filter((path) => !/^(?:node:|\.\.\/src\/(?:loops|text)\/)/.test(path))).toEqual([]);
});
