// What `ralph ui` costs: its memory, idle and with the list of many loops open, and how long the list takes to be answered.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { join } from 'node:path';
import { memory, PROJECT, scratch } from './measure.mjs';

const COUNT = 200;
const ROUNDS = 21;
const MAIN = join(PROJECT, 'dist/cli/main.js');

export async function browserPage() {
  const box = scratch();
  const ui = spawn(process.execPath, [MAIN, 'ui'], { cwd: box.workspace, env: box.env });
  try {
    const at = await address(ui);
    const idle = memory(ui.pid);
    box.time(process.execPath, [join(PROJECT, 'bench/end-loops.mjs'), box.workspace, String(COUNT)]);
    const list = JSON.stringify({ verb: 'list', args: [{ workspace: null }] });
    const answer = await ask(at, '/api', list);
    const live = request({ ...options(at, '/live'), method: 'POST' }).on('error', () => {});
    live.end(JSON.stringify({ list: { from: null }, loops: [] }));
    await new Promise((resolve) =>
      live.once('response', (response) => response.once('data', resolve).resume()),
    );
    const file = await served(answer);
    const times = { ours: [], bare: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.ours.push(await timed(() => ask(at, '/api', list)));
      times.bare.push(await timed(() => ask(file, '/', '')));
    }
    const full = memory(ui.pid);
    live.destroy();
    file.server.close();
    return [
      { what: 'memory of `ralph ui` without loops', ours: idle, unit: 'MB', limit: 120 },
      { what: `the same with a page that lists ${COUNT} loops`, ours: full, unit: 'MB', limit: 120 },
      {
        what: `the list of ${COUNT} loops for the page`,
        ours: median(times.ours),
        bare: median(times.bare),
        baseline: 'a file of its size',
        unit: 'ms',
        limit: 3,
      },
    ];
  } finally {
    ui.kill();
  }
}

/** Where it listens, with its token. */
async function address(ui) {
  let said = '';
  for await (const chunk of ui.stdout) {
    said += chunk;
    const [, port, token] = /127\.0\.0\.1:(\d+)\/#token=([\w-]+)/.exec(said) ?? [];
    if (token !== undefined) return { port: Number(port), token };
  }
  throw new Error('ralph ui has ended');
}

/** A server that answers with this text from a file. */
async function served(text) {
  const path = join(scratch().root, 'list.json');
  writeFileSync(path, text);
  const { createReadStream } = await import('node:fs');
  const server = createServer((_, response) => createReadStream(path).pipe(response));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: server.address().port, token: '', server };
}

function options({ port, token }, path) {
  const origin = `http://127.0.0.1:${port}`;
  const headers = {
    'sec-fetch-site': 'same-origin',
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    origin,
  };
  return { host: '127.0.0.1', port, path, headers };
}

async function ask(at, path, body) {
  const sent = request({ ...options(at, path), method: 'POST' });
  const response = await new Promise((resolve, reject) =>
    sent.on('response', resolve).on('error', reject).end(body),
  );
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

async function timed(work) {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
