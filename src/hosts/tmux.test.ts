// @module-tag tmux
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Terminals } from '../../test/rig/cli/terminal.ts';
import { RiggedTmux } from '../../test/rig/cli/tmux.ts';
import { until } from '../../test/rig/cli/until.ts';
import { pasteInto, startInPane } from '../tmux/pane.ts';
import { placeIn } from '../tmux/place.ts';
import { TmuxServer } from '../tmux/server.ts';
import { closeWindow, ensureWindow, findWindow } from '../tmux/windows.ts';
import type { Host, HostedRun } from './host.ts';
import type { PaneSpec } from './pane-run.ts';
import { tmuxHost } from './tmux.ts';

const AGENT = fileURLToPath(new URL('../../test/fixtures/reads-its-terminal.mjs', import.meta.url));

let root: string;
let server: TmuxServer;
let terminals: Terminals;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "ralph tmux'"));
  server = new TmuxServer(placeIn(join(root, 'state')));
  terminals = new Terminals();
});
afterAll(() => {
  terminals.close();
  new RiggedTmux(server.place.state).tearDown();
  rmSync(root, { recursive: true, force: true });
});

let loops = 0;
const said: string[] = [];
const POLL = { timeout: 10_000 };

/** A host with one loop, and the files of its run. */
function stage(args: readonly string[], more: Partial<PaneSpec> = {}) {
  const loop = `loop-${++loops}`;
  const folder = join(root, loop, '1.1');
  mkdirSync(folder, { recursive: true });
  const got = join(root, loop, 'got');
  const spec = (run: string): PaneSpec => ({
    folder,
    argv: () => [process.execPath, AGENT, '--to', got, ...args],
    cwd: root,
    env: { PATH: process.env['PATH'] ?? '', ODD: "a 'quoted'\nline; #{x} $HOME %d", EMPTY: '' },
    stdin: null,
    marker: { name: 'RALPH_RUN_ID', value: `${loop}.${run}` },
    server,
    window: { loop, name: `w${loops}` },
    prompt: join(folder, 'prompt.md'),
    readyMs: 10_000,
    say: (line) => said.push(line),
    ...more,
  });
  const prompt = (text: string): void => writeFileSync(join(folder, 'prompt.md'), text);
  return { loop, folder, got, prompt, host: tmuxHost(spec) };
}

const start = (host: Host) => host.start({ run: '1.1', receipt: null });

async function ended(run: HostedRun): Promise<number | null> {
  await run.ended;
  await run.stop(100);
  return run.close('read');
}

describe('an agent in a pane', () => {
  const lines = Array.from({ length: 7000 }, (_, index) => `line ${index}: the quick brown fox, über 🦊\t|;`);
  it.each([
    ['with bracketed paste', ['--bracketed']],
    ['without bracketed paste', []],
  ])('S4.83 S4.87 gets 300 kB exactly as they are, %s', async (_, args) => {
    const { host, got, prompt } = stage([...args, '--exit', '0']);
    const text = `- a list\n\n\ttab\n#{pane_id} %H $(id) \`id\` \\e\n${lines.join('\n')}\n-e;`;
    expect(Buffer.byteLength(text)).toBeGreaterThan(300_000);
    prompt(text);
    expect(await ended(await start(host))).toBe(0);
    expect(readFileSync(got, 'utf8')).toBe(text);
  });

  it('S4.87 has its real exit status, its own environment and a complete record', async () => {
    const script = 'printf "%s\\n" "$ODD" "[${EMPTY-unset}]" "[$TMUX]" "[$SHELL]" "$PWD" "[$HOME]"; exit 7';
    const { host, folder, prompt } = stage([], { argv: () => ['/bin/sh', '-c', script], readyMs: 0 });
    prompt('p');
    const run = await start(host);
    let output = '';
    run.follow((chunk) => {
      output += chunk.toString('utf8');
    });
    expect(await ended(run)).toBe(7);
    const shown = ["a 'quoted'", 'line; #{x} $HOME %d', '[]', '[]', '[]', root, '[]', ''];
    expect(output).toBe(shown.join('\r\n'));
    expect(existsSync(join(folder, 'pane.sh'))).toBe(false);
  });

  it('S4.84 warns about an agent that does not become ready, and gives it its prompt all the same', async () => {
    const { host, got, prompt } = stage(['--late', '60000', '--exit', '0'], { readyMs: 1000 });
    prompt('go on');
    const run = await start(host);
    expect(await run.screen?.()).toBeNull();
    expect(await ended(run)).toBe(0);
    expect(readFileSync(got, 'utf8')).toBe('go on');
    expect(said).toContain(`warning: agent 'w${loops}' did not become ready within 1s`);
  });

  it('S4.84 gets no prompt while it asks a question, and then gets it once a person has answered', async () => {
    const answered = join(root, 'answered');
    const { host, loop, got, prompt } = stage(['--asks', answered, '--exit', '0'], { readyMs: 3000 });
    prompt('go on');
    const run = await start(host);
    const warning = `warning: agent 'w${loops}' asks a question; it gets its prompt once you have answered in: ralph attach w${loops}`;
    await expect.poll(() => said, POLL).toContain(warning);
    // It can be inactive from now on, and the prompt was not sent.
    await expect.poll(async () => (await run.screen?.())?.text, POLL).toContain('Enter to confirm');
    expect(existsSync(answered)).toBe(false);
    const { pane = '' } = (await findWindow(server, loop)) ?? {};
    await pasteInto(server, pane, Buffer.from('y'), false);
    expect(await ended(run)).toBe(0);
    expect(readFileSync(answered, 'utf8')).toBe('y');
    expect(readFileSync(got, 'utf8')).toBe('go on');
    expect(said.filter((line) => line === warning)).toHaveLength(1);
  });

  it('is missing in a window that was just made, even before the program of that window has exited', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `new-${index}`);
    const made = await Promise.all(names.map((name) => ensureWindow(server, { loop: name, name })));
    expect(made.map(({ isDead }) => isDead)).toEqual(names.map(() => true));
    await Promise.all(names.map((name) => closeWindow(server, name)));
  });

  it('gets no prompt once it has exited, which would crash tmux 3.3', async () => {
    const { loop } = stage([]);
    const { pane } = await ensureWindow(server, { loop, name: 'w' });
    const argv = ['/bin/sh', '-c', String.raw`printf '\033[?2004h'`];
    await startInPane(server, pane, { argv, log: null, tag: loop });
    await expect.poll(async () => (await findWindow(server, loop))?.isDead, POLL).toBe(true);
    await pasteInto(server, pane, Buffer.from('too late'), true);
    expect(await server.ask(['list-buffers'])).toBe('');
    expect(await closeWindow(server, loop)).toBe(true);
  });

  it('S4.86 shows what the agent printed, without the prompt that it prints again', async () => {
    const { host, got, prompt } = stage(['--echo', '--print', 'half of it', '--print', 'ALL DONE']);
    prompt('Do the work, then print\nALL DONE\nand nothing else. Do not print welcome.\n');
    const run = await start(host);
    await until('the prompt', () => (existsSync(got) ? true : null));
    await expect.poll(async () => (await run.screen?.())?.own, POLL).toContain('half of it');
    const shown = await run.screen?.();
    expect(shown?.own.trim().split('\n')).toEqual(['half of it', 'ALL DONE']);
    expect(shown?.text).toContain('Do the work');
    expect(await run.stop(2000)).toEqual([]);
    await run.close('read');
  });

  it('S4.87 is found after its owner has died, and keeps its pane although another window has a longer name', async () => {
    const { host, loop, got, prompt } = stage([]);
    const other = stage([], { window: { loop: 'other', name: `w${loops - 1}-2` } });
    prompt('p');
    other.prompt('p');
    const left = await start(host);
    await start(other.host);
    await until('the prompt', () => (existsSync(got) ? true : null));
    await left.detach();
    const found = await host.find({ run: '1.1', receipt: null });
    expect(found?.receipt).toEqual(left.receipt);
    await expect.poll(async () => (await found?.screen?.())?.text, POLL).toContain('welcome');
    expect(await closeWindow(server, loop)).toBe(true);
    await found?.ended;
    expect(await findWindow(server, loop)).toBeNull();
    expect(await findWindow(server, 'other')).toMatchObject({ session: 'ralph', isDead: false });
    // It was hung up.
    expect(await found?.close('read')).toBeGreaterThan(128);
    await closeWindow(server, 'other');
  });

  it('uses one window for all runs of a loop, and is not disturbed by a person who looks at it in copy mode', async () => {
    const { host, loop, prompt } = stage(['--exit', '3']);
    prompt('once');
    expect(await ended(await start(host))).toBe(3);
    const first = await findWindow(server, loop);
    expect(first).toMatchObject({ isDead: true });
    const person = terminals.open(['env', '-u', 'TMUX', ...server.command('attach', '-t', '=ralph')], {
      cwd: root,
      env: { TERM: 'screen' },
      size: [30, 10],
    });
    await person.shows('[ralph]');
    const again = stage(['--late', '600', '--exit', '0'], { window: { loop, name: 'x' } });
    again.prompt('twice;');
    const run = await start(again.host);
    await server.ask(['copy-mode', '-t', first?.pane ?? '']);
    expect(await server.ask(['display-message', '-p', '-t', first?.pane ?? '', '#{pane_in_mode}'])).toBe(
      '1\n',
    );
    expect(await ended(run)).toBe(0);
    expect(readFileSync(again.got, 'utf8')).toBe('twice;');
    expect(await findWindow(server, loop)).toEqual(first);
    person.goesAway();
  });
});
