/**
 * The page of `ralph ui` in a real browser, with real loops.
 *
 * @module-tag chromium
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import { newPage, startBrowser } from '../rig/cli/browser.ts';
import { claims } from '../rig/cli/first-turn.ts';
import type { Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { registerLoop } from '../rig/loop-folder.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { refOf, startUi, type Ui } from '../rig/cli/ui.ts';
import { until } from '../rig/cli/until.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

let rig: Rig;
let ui: Ui;
let context: BrowserContext;
let page: Page;
let faults: readonly string[];
beforeEach(async () => {
  rig = await setUpRig();
  ui = await startUi(rig);
  context = await browser.newContext();
  ({ page, faults } = await newPage(context, ui.origin));
});
afterEach(async () => {
  await context.close();
  if (!ui.program.isOver) ui.program.signal('SIGINT');
  await ui.program.ended;
  await rig.tearDown();
  if (faults.length > 0) throw new Error(faults.join('\n'));
});

/** What a person who cannot see or use a mouse would stumble over. */
async function barriers(): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the script above has made it
    const { axe: tool } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } };
    interface Violation {
      readonly id: string;
      readonly impact: string;
      readonly nodes: readonly { readonly html: string }[];
    }
    const { violations } = await tool.run();
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  });
}

async function started(
  name: string,
  ...options: readonly string[]
): Promise<{ program: Program; turn: Turn }> {
  const program = rig.ralph(['run', `task of ${name}`, '--name', name, ...options, '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  await rig.loop(name).journals('run.started');
  return { program, turn };
}

function row(name: string): ReturnType<Page['locator']> {
  return page.locator(`tr[data-loop="${name}"]`);
}

describe('the overview', () => {
  it('shows a loop that starts, what its agent does, and that it is done, without a reload', async () => {
    await page.goto(ui.address);
    await page.getByText('There are no loops.').waitFor();
    expect(page.url()).toBe(`${ui.origin}/#/`);
    const { program, turn } = await started('a');
    await row('a').getByText('running').waitFor();
    await row('a').getByText('agent ·').waitFor();
    await claims(turn);
    await program.ended;
    await row('a').getByText('done', { exact: true }).waitFor();
    expect(await barriers()).toEqual([]);
  });

  it('goes on after the server was killed and started again, and says that its token is an old one', async () => {
    await page.goto(ui.address);
    await page.getByText('There are no loops.').waitFor();
    await ui.program.crashes();
    await page.getByText('ralph ui does not answer').waitFor();
    await rig.does('run', 'a task', '--name', 'meanwhile', '--', 'echo', '<promise>DONE</promise>');
    ui = await startUi(rig, '--port', String(ui.port));
    await page.getByText('This page belongs to an earlier start of ralph ui.').waitFor();
    await page.goto(ui.address);
    await row('meanwhile').getByText('done', { exact: true }).waitFor();
    await page.reload();
    await row('meanwhile').getByText('done', { exact: true }).waitFor();
    expect(page.url()).toBe(`${ui.origin}/#/`);
  });

  it('shares one connection among tabs, which any of them takes over, and has none while it is hidden', async () => {
    const open = new Set<Request>();
    context.on('request', (request) => {
      if (request.url().endsWith('/live')) open.add(request);
    });
    const closed = (request: Request): void => void open.delete(request);
    context.on('requestfailed', closed).on('requestfinished', closed);
    await page.goto(ui.address);
    await page.getByText('There are no loops.').waitFor();
    const other = await newPage(context, ui.origin);
    await other.page.goto(ui.address);
    await other.page.getByText('There are no loops.').waitFor();
    const { program, turn } = await started('a');
    await row('a').getByText('running').waitFor();
    await other.page.locator('tr[data-loop="a"]').getByText('running').waitFor();
    expect(open.size).toBe(1);
    await page.close();
    await claims(turn);
    await program.ended;
    await other.page.locator('tr[data-loop="a"]').getByText('done', { exact: true }).waitFor();
    // A browser without a window never hides a tab itself.
    const hides = (isHidden: boolean): Promise<void> =>
      other.page
        .evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await hides(true);
    await until('the end of the connection', () =>
      [...open].some((request) => request.frame().page() === other.page) ? null : true,
    );
    await rig.does('run', 'a task', '--name', 'b', '--', 'echo', '<promise>DONE</promise>');
    await hides(false);
    await other.page.locator('tr[data-loop="b"]').getByText('done', { exact: true }).waitFor();
    expect(other.faults).toEqual([]);
  });
});

it('--open leads a browser to the page, which can be loaded again', async () => {
  const log = join(rig.folder, 'opened');
  writeFileSync(join(rig.folder, 'xdg-open'), `#!/bin/sh\nprintf '%s\\n' "$1" > ${log}\n`, { mode: 0o755 });
  const env = { PATH: `${rig.folder}:${rig.env['PATH'] ?? ''}`, TMPDIR: rig.folder };
  const program = rig.ralph(['ui', '--open'], { env });
  const file = await until('the file', () =>
    existsSync(log) && readFileSync(log, 'utf8').endsWith('\n') ? readFileSync(log, 'utf8').trim() : null,
  );
  const opened = await context.newPage();
  await opened.goto(`file://${file}`);
  await opened.getByText('There are no loops.').waitFor();
  await opened.reload();
  await opened.getByText('There are no loops.').waitFor();
  expect(opened.url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/$/);
  program.signal('SIGINT');
  await program.ended;
});

it('the overview of 200 loops keeps its rows where they are, filters them, and shows the next one', async () => {
  vi.stubEnv('XDG_STATE_HOME', rig.env['XDG_STATE_HOME']);
  for (let number = 1; number <= 200; number++)
    registerLoop(rig.workspace, `loop-${String(number).padStart(3, '0')}`, []);
  vi.unstubAllEnvs();
  await page.goto(ui.address);
  await page.getByText('200 of 200').waitFor();
  const names = (): Promise<readonly string[]> =>
    page.evaluate("[...document.querySelectorAll('tr[data-loop]')].map((row) => row.dataset.loop)");
  const before = await names();
  expect(before).toEqual(before.toSorted());
  await rig.does('run', 'a task', '--name', 'another', '--', 'echo', '<promise>DONE</promise>');
  await row('another').getByText('done', { exact: true }).waitFor();
  const after = await names();
  expect(after.filter((name) => name !== 'another')).toEqual(before);
  await page.getByLabel('Filter').fill('loop-19');
  await page.getByText('10 of 201').waitFor();
  expect(await names()).toHaveLength(10);
  await page.setViewportSize({ width: 375, height: 700 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
  expect(await barriers()).toEqual([]);
});

describe('a loop', () => {
  it('is told, paused, resumed and stopped from the page, which says which event did it', async () => {
    const { program, turn } = await started('a', '--check', 'true');
    await page.goto(`${ui.origin}/#/`);
    await page.getByText('This address has no token.').waitFor();
    await page.goto(ui.address);
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByLabel('Tell the agent').fill('use <b>PostgreSQL</b>');
    await page.getByRole('button', { name: 'Tell', exact: true }).click();
    await page.getByText(/tell: queued → taken \(event \d+\)$/).waitFor();
    await turn.exits(0);
    const second = await rig.nextTurn();
    expect(second.prompt).toContain('use <b>PostgreSQL</b>');
    await page.getByText(/tell: queued → taken \(event \d+\) → done \(event \d+\)/).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText(/pause: queued → taken \(event \d+\)$/).waitFor();
    await second.exits(0);
    await page.getByText(/pause: queued → taken \(event \d+\) → done \(event \d+\)/).waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    const third = await rig.nextTurn();
    await page.getByText(/resume: queued → taken \(event \d+\) → done/).waitFor();
    await page.getByRole('button', { name: 'Raise a limit …' }).click();
    await page.getByLabel(/^from /).fill('77');
    await page.getByRole('button', { name: 'Set' }).click();
    await page.getByText(/set iterations 77: queued → taken \(event \d+\) → done/).waitFor();
    await page.getByText('/77').first().waitFor();
    expect(await barriers()).toEqual([]);
    await page.getByRole('button', { name: 'Stop …' }).click();
    await page.getByRole('button', { name: 'Stop now' }).click();
    await page.getByText(/stop now: queued → taken \(event \d+\) → done \(event \d+\)/).waitFor();
    await third.gone;
    // A loop that is resumed after a pause goes on in the background.
    expect((await program.ended).code).toBe(4);
  });

  it('asks its question, one click from everywhere, and goes on with the answer', async () => {
    const { program, turn } = await started('a');
    const bus = busAt(turn.env['MESSAGE_BUS'] ?? '');
    await post(bus, draft({ type: 'QUESTION', projectId: 'p', body: 'Which <i>database</i>?', meta: {} }));
    await turn.exits(0);
    await page.goto(`${ui.origin}/#/morning`);
    await page.goto(ui.address);
    await page.getByText('1 loop needs you').waitFor();
    await page.getByRole('navigation', { name: 'Loops that need you' }).getByRole('link').click();
    await page.getByLabel('Which <i>database</i>?').fill('SQLite');
    await page.getByRole('button', { name: 'Answer' }).click();
    const second = await rig.nextTurn();
    expect(second.prompt).toContain('SQLite');
    await page.getByText(/answer: queued → taken \(event \d+\) → done \(event \d+\)/).waitFor();
    await claims(second);
    await program.ended;
  });

  it('says why it is not done, and each iteration has its prompt, its stream, its checks and its changes', async () => {
    const check = 'echo "expected 2, got 3"; test -e made';
    const { program, turn } = await started('a', '--check', check);
    await turn.prints('I have looked at <script>alert(1)</script>\n<promise>DONE</promise>\n');
    await turn.writes('wrong.test.ts', 'a <img src=x onerror=alert(1)>\n');
    await turn.exits(0);
    const second = await rig.nextTurn();
    await page.goto(ui.address);
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByText('fails (exit 1)').first().waitFor();
    await page.getByText('expected 2, got 3').first().waitFor();
    await page.getByText('the agent has claimed to be done once, and was rejected').waitFor();
    await second.prints('working on it\n');
    await page.getByText('working on it').waitFor();
    await page.reload();
    await page.getByText('working on it').waitFor();
    await page.getByRole('link', { name: /^1\s?red/ }).click();
    await page.getByRole('heading', { name: 'Iteration 1' }).waitFor();
    await page.getByText('I have looked at <script>alert(1)</script>').waitFor();
    await page.getByText('Prompt as it was sent').click();
    await page.getByText('task of a').first().waitFor();
    await page.getByText(/^Check /).click();
    await page.getByText('expected 2, got 3').first().waitFor();
    await page.getByText('wrong.test.ts').first().waitFor();
    await page.getByText('a <img src=x onerror=alert(1)>').waitFor();
    expect(await barriers()).toEqual([]);
    await second.writes('made');
    await claims(second);
    await program.ended;
    await page.getByRole('button', { name: /^Rewind the files/ }).click();
    await page.getByLabel('Rewind').getByText('made').first().waitFor();
    await page.getByRole('button', { name: 'Rewind', exact: true }).click();
    await page
      .getByText(/rewound the files of a to checkpoint 1: .*; undo with: ralph rewind a rewind-1/)
      .waitFor();
    expect([rig.has('made'), rig.has('wrong.test.ts')]).toEqual([false, true]);
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByRole('img', { name: 'failing checks: at most 1 in iterations 1 to 2' }).waitFor();
    await page.getByText('What it has changed in all').click();
    await page.getByText('wrong.test.ts').first().waitFor();
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the report as HTML' }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe('a.html');
    expect(readFileSync(await saved.path(), 'utf8')).toContain('<title>Ralph loop a</title>');
    expect(await barriers()).toEqual([]);
    await page.getByRole('link', { name: 'Morning' }).click();
    await page.getByText('1 loop since').waitFor();
    await page.getByText('1 of 1 passes').waitFor();
    expect(await barriers()).toEqual([]);
  });

  it('shows what an agent prints as text, whatever it is', async () => {
    const { program, turn } = await started('a', '--tag', '<b>bold</b>');
    const long = 'x'.repeat(300_000);
    await turn.prints(
      `\u001B[31mred\u001B[0m \u001B]0;title\u0007 <script>alert(1)</script> safe\u202Egnp.exe\n${long}\n`,
    );
    await page.goto(ui.address);
    await page.getByRole('link', { name: 'a', exact: true }).click();
    await page.getByText('red  <script>alert(1)</script> safe<U+202E>gnp.exe').waitFor();
    await page
      .getByText(/ more characters/)
      .first()
      .waitFor();
    expect(await page.locator('.stream script, .stream img').count()).toBe(0);
    await rig.does('stop', 'a', '--now');
    await page.getByText('stopped').first().waitFor();
    await program.ended;
  });

  it('works with a keyboard alone', async () => {
    const { program, turn } = await started('a');
    await page.goto(ui.address);
    await row('a').getByText('running').waitFor();
    const focus = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim()');
    const tabTo = async (name: string): Promise<void> => {
      for (let presses = 0; presses < 40; presses++) {
        // oxlint-disable-next-line no-await-in-loop -- as a person presses
        if ((await focus()) === name) return;
        // oxlint-disable-next-line no-await-in-loop -- as above
        await page.keyboard.press('Tab');
      }
      throw new Error(`${name} cannot be reached with Tab`);
    };
    await tabTo('a');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    await tabTo('Pause');
    await page.keyboard.press('Enter');
    await rig.loop('a').journals('control.received', ({ control }) => control.type === 'pause');
    await tabTo('Stop …');
    await page.keyboard.press('Enter');
    await tabTo('Stop now');
    await page.keyboard.press('Space');
    await turn.gone;
    expect((await program.ended).code).toBe(130);
  });
});

/** What such a page can try, even with the token; returns what it can read. */
const FOREIGN = `async (origin, token, loop) => {
  const body = JSON.stringify({ verb: 'send', args: [loop, { type: 'stop', now: true, by: 'person' }] });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
  const read = [];
  for (const options of [
    { method: 'POST', body, headers },
    { method: 'POST', body, mode: 'no-cors' },
    { method: 'POST', body, mode: 'no-cors', credentials: 'include' },
    { method: 'GET', mode: 'no-cors' },
  ])
    await fetch(origin + '/api', options).then(
      async (response) => read.push(await response.text()),
      () => read.push('failed'),
    );
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: origin + '/api', enctype: 'text/plain', target: 'frame' });
  const frame = document.createElement('iframe');
  frame.name = 'frame';
  document.body.append(frame, form);
  form.submit();
  await new Promise((resolve) => setTimeout(resolve, 0));
  frame.src = origin + '/';
  await new Promise((resolve) => frame.addEventListener('load', resolve, { once: true }));
  return read;
}`;

describe('a page on another port of 127.0.0.1', () => {
  let server: Server;
  beforeAll(async () => {
    server = createServer((_, response) =>
      response.setHeader('content-type', 'text/html').end('<p>mine</p>'),
    );
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
  });
  afterAll(() => server.close());

  it('gets no answer, can change nothing and cannot show the page in a frame', async () => {
    const { program, turn } = await started('a');
    const statuses: number[] = [];
    const foreign = await context.newPage();
    foreign.on('response', (response) => {
      if (response.url().startsWith(ui.origin)) statuses.push(response.status());
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a server that listens on a port
    await foreign.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    const loop = refOf(rig, 'a');
    const known = [ui.origin, ui.token, loop].map((one) => JSON.stringify(one)).join();
    const outcome = await foreign.evaluate(`(${FOREIGN})(${known})`);
    expect(outcome).toEqual(['failed', 'failed', 'failed', 'failed']);
    expect(new Set(statuses)).toEqual(new Set([403]));
    expect(rig.loop('a').all('control.received')).toEqual([]);
    await rig.does('stop', 'a', '--now');
    await turn.gone;
    await program.ended;
  });
});
