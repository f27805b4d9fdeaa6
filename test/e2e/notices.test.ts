/** Notices of the built command: what must arrive arrives, and what is secret stays secret. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import { noteTrouble } from '../../src/home/trouble.ts';
import { HookServer } from '../rig/hook-server.ts';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { until } from '../rig/cli/until.ts';

let rig: Rig;
let server: HookServer;
beforeEach(async () => {
  rig = await setUpRig();
  server = new HookServer();
  await server.starts();
});
afterEach(async () => {
  await server.stops();
  await rig.tearDown();
});

const PATH_SECRET = 'hooks-path-3f9c27d1';
const KEY = 'plain-hmac-words-7a41';
/** The variables of the user, by names that nothing recognises as secret. */
const address = (): Record<string, string> => ({ OPS: `${server.url}${PATH_SECRET}`, OPS_HMAC: KEY });
const NOTIFY = ['--notify', 'env:OPS'];

async function arrive(...kinds: readonly string[]): Promise<void> {
  const missing = (): readonly string[] =>
    kinds.filter((kind) => server.ids.every((id) => !id.endsWith(`.${kind}`)));
  await until(`notices: ${kinds.join()}`, () => (missing().length === 0 ? true : null), {
    seen: () => `${server.ids.join('\n')}\n${rig.daemon.log}`,
  });
}

/** The files below a folder that have a text in them. */
function filesWith(text: string, folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
    .filter((path) => contentOf(path).includes(text));
}

/** Empty for a file that was removed meanwhile. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    return Buffer.alloc(0);
  }
}

/** Waits until a text is in no file of the state. */
async function forgets(text: string): Promise<void> {
  const folder = join(rig.folder, 'state');
  await until(`no ${text}`, () => (filesWith(text, folder).length === 0 ? true : null), {
    seen: () => filesWith(text, folder).join('\n'),
  });
}

function ownSettings(content: object): void {
  const folder = join(rig.env['HOME'] ?? '', '.config', 'ralph');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(content));
}

function settings(content: object): void {
  mkdirSync(rig.path('.ralph'), { recursive: true });
  rig.write('.ralph/settings.json', JSON.stringify(content));
}

describe('the notices of a loop', () => {
  it('arrive once each, and their address and key reach no agent, check, log, journal or message', async () => {
    ownSettings({ notify: [{ to: `${server.url}own-${PATH_SECRET}`, name: 'phone', key: KEY }] });
    settings({ notify: [{ to: 'env:OPS', key: 'env:OPS_HMAC' }] });
    const agent = rig.plain('env; cat .ralph/settings.json; echo; echo "<promise>DONE</promise>"');
    const args = ['run', 'x', '--name', 'a', '--check', 'env', '--verbose', '--', ...agent];
    const ended = await rig.runs(args, { env: address() }).ended;
    exits(ended, 0);
    const [first = '', second = ''] = server.ids;
    expect(first).toMatch(/^a-\w+\.\d+\.loop\.done$/);
    expect([second, server.posts.length]).toEqual([first, 2]);
    for (const { headers } of server.posts) expect(headers).toHaveProperty('x-ralph-signature-256');
    const shown = [ended.stdout, ended.stderr];
    for (const look of [['status', 'a'], ['config'], ['config', '--json'], ['logs', 'a'], ['story', 'a']]) {
      // oxlint-disable-next-line no-await-in-loop -- one command after the other
      const { stdout, stderr } = await rig.does(...look);
      shown.push(stdout, stderr);
    }
    for (const secret of [PATH_SECRET, KEY]) {
      expect(shown.join('\n')).not.toContain(secret);
      expect(filesWith(secret, join(rig.folder, 'state'))).toEqual([]);
      expect(filesWith(secret, rig.workspace)).toEqual([]);
    }
  });

  it('arrive after the end through the daemon, if the server is down over a SIGKILL of the owner', async () => {
    await server.stops();
    const owner = rig.ralph(['run', 'x', '--name', 'a', ...NOTIFY, '--', ...rig.agent], { env: address() });
    const turn = await rig.nextTurn();
    const ask = (body: string): Promise<string> =>
      post(busAt(turn.env['MESSAGE_BUS'] ?? ''), draft({ type: 'QUESTION', projectId: 'p', body }));
    await ask('Which "$(database)"?');
    await rig.loop('a').journals('question.asked');
    await owner.says('notice to OPS failed: ECONNREFUSED');
    await owner.crashes();
    const status = await rig.does('status', 'a');
    expect(status.stdout).toMatch(/^Notices: OPS: ECONNREFUSED, since .*, 1 notice waiting$/m);
    await server.starts();
    await arrive('person.needed');
    expect(JSON.parse(server.posts[0]?.body ?? '')).toMatchObject({ question: 'Which "$(database)"?' });
    expect(server.posts[0]?.body).toMatch(/"command":"ralph answer a \\"…\\" --question [\w-]+"/);
    expect(rig.daemon.log).not.toContain(PATH_SECRET);
    await rig.daemon.ends();
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.exits(0);
    exits(await rig.does('answer', 'a', 'yes'), 0);
    const next = await rig.nextTurn();
    await next.prints('<promise>DONE</promise>\n');
    await next.exits(0);
    exits(await resumed.ended, 0);
    await arrive('loop.done');
    expect(server.ids).toHaveLength(2);
    expect(filesWith(PATH_SECRET, join(rig.folder, 'state'))).toEqual([]);
  });

  it('repeat at most the one that was on its way when the owner was killed', async () => {
    server.answers.push(200, 'hangs');
    const command = rig.plain('sleep 0.1');
    settings({ notify: [{ to: 'env:OPS', events: ['iteration.ended', 'limit.reached'] }] });
    const owner = rig.ralph(
      ['run', 'x', '--name', 'a', '-m', '3', '--max-unchanged', '0', '--', ...command],
      {
        env: address(),
      },
    );
    await until('the second notice', () => (server.posts.length === 2 ? true : null), {
      seen: () => owner.said,
    });
    await owner.crashes();
    exits(await rig.runs(['resume', 'a']).ended, 1);
    await arrive('limit.reached');
    const counts = [...new Set(server.ids)].map((id) => server.ids.filter((one) => one === id).length);
    expect(counts).toEqual([1, 2, 1, 1]);
  });

  it('do not keep a loop whose server never answers, and later arrive', async () => {
    server.answers.push('hangs');
    const started = performance.now();
    const args = ['run', 'x', '--name', 'a', '-m', '1', ...NOTIFY, '--', 'true'];
    exits(await rig.runs(args, { env: address() }).ended, 1);
    expect(performance.now() - started).toBeLessThan(8000);
    await until('the second attempt', () => (server.posts.length === 2 ? true : null), {
      seen: () => rig.daemon.log,
    });
    expect(new Set(server.ids).size).toBe(1);
    await forgets(PATH_SECRET);
  });
});

it('a loop that is set aside is told of by the daemon', async () => {
  const args = ['run', 'x', '--name', 'a', '-d', ...NOTIFY, '--', ...rig.agent];
  exits(await rig.runs(args, { env: address() }).ended, 0);
  const turn = await rig.nextTurn();
  await rig.loop('a').journals('run.started');
  await rig.daemon.crashes();
  const { folder } = rig.loop('a');
  const files = { journal: join(folder, 'journal.jsonl'), trouble: join(folder, 'trouble.json') };
  for (let times = 0; times < 2; times++) noteTrouble(files, 'kept it busy');
  exits(await rig.does('ls'), 0);
  await arrive('loop.set-aside');
  expect(JSON.parse(server.posts[0]?.body ?? '')).toMatchObject({ command: 'ralph resume a', urgent: true });
  await turn.exits(0);
});

it('a session does not wait for the notices of its loop: the daemon sends them', async () => {
  ownSettings({ notify: [`${server.url}${PATH_SECRET}`] });
  const step = async (input: object): Promise<string> => {
    const argv = [
      '/bin/sh',
      '-c',
      'printf %s "$INPUT" | "$@"',
      'sh',
      process.execPath,
      rig.command,
      'hook',
      'step',
    ];
    const { stdout } = await rig.program(argv, { INPUT: JSON.stringify(input) }).ended;
    return stdout;
  };
  const session = { session: 's1', program: 'claude', workspace: rig.workspace };
  await step({ type: 'start', ...session, asked: { prompt: 'Fix it', checks: [] } });
  const messages = [{ role: 'assistant', text: '<promise>DONE</promise>' }];
  expect(await step({ type: 'turn', session: 's1', turn: { messages } })).toContain('"outcome":"done"');
  await arrive('loop.done');
  await forgets(PATH_SECRET);
  expect(server.posts).toHaveLength(1);
});

it('the variables of places that a loop does not use are removed from its environment, too', async () => {
  settings({ notify: [{ to: 'env:OPS', key: 'env:OPS_HMAC' }] });
  const agent = rig.plain('env >>seen');
  for (const notify of [['none'], ['terminal']]) {
    const args = ['run', 'x', '-m', '1', '--notify', ...notify, '--check', 'env >>seen', '--', ...agent];
    // oxlint-disable-next-line no-await-in-loop -- one loop after the other
    exits(await rig.runs(args, { env: address() }).ended, 1);
  }
  expect(rig.read('seen')).not.toMatch(new RegExp(`${PATH_SECRET}|${KEY}`));
  expect(server.posts).toEqual([]);
});

describe('settings of a repository', () => {
  it('cannot have an address or a key', async () => {
    settings({ notify: ['desktop', `${server.url}${PATH_SECRET}`] });
    const refused = await rig.does('run', 'x', '--', 'true');
    exits(refused, 2);
    expect(refused.stderr).toContain('.ralph/settings.json:1:22: notify[1] contains an address or a key');
    expect(refused.stderr).not.toContain(PATH_SECRET);
  });

  it('need trust for a command, which runs with each kind of notice that it is for', async () => {
    settings({ on: { 'iteration.ended': 'echo "$RALPH_NOTICE_TEXT" >>told; exit 0' } });
    const args = ['run', 'x', '-m', '2', '--max-unchanged', '0', '--', 'true'];
    const refused = await rig.runs(args, { env: { RALPH_TRUST: '' } }).ended;
    exits(refused, 2);
    expect(refused.stderr).toContain('.ralph/settings.json');
    const shown = await rig.does('trust', '--show');
    expect(shown.stdout).toContain('echo "$RALPH_NOTICE_TEXT" >>told; exit 0');
    exits(await rig.runs(args).ended, 1);
    expect(rig.lines('told')).toEqual(['iteration 1/2 ended', 'iteration 2/2 ended']);
  });
});

describe('ralph notify test', () => {
  it('sends a notice to each place, or to the named one, and says which failed', async () => {
    settings({ notify: [{ to: 'env:OPS', name: 'ops' }, 'command exit 3'] });
    const all = await rig.runs(['notify', 'test'], { env: address() }).ended;
    expect(all).toMatchObject({ code: 1, stdout: 'ops: sent\ncommand: failed: exit code 3\n' });
    const one = await rig.runs(['notify', 'test', '--to', 'ops'], { env: address() }).ended;
    expect(one).toMatchObject({ code: 0, stdout: 'ops: sent\n' });
    expect(server.posts).toHaveLength(2);
    exits(await rig.does('notify', 'test', '--to', 'nowhere'), 2);
    const secret = await rig.does('run', 'x', '--notify', `https://${PATH_SECRET}.example/`, '--', 'true');
    exits(secret, 2);
    expect(secret.stderr).not.toContain(PATH_SECRET);
  });
});

it('a loop that an agent starts notifies as its parent does, of what a person has to do', async () => {
  const child = `${process.execPath} ${rig.command} run y --name b -m 1 -- sh -c 'exit 1'`;
  const asks = `${process.execPath} ${rig.command} run y --name c --notify desktop -- true`;
  const agent = rig.plain(`${child}; ${asks} 2>refused; echo "<promise>DONE</promise>"`);
  exits(await rig.runs(['run', 'x', '--name', 'a', ...NOTIFY, '--', ...agent], { env: address() }).ended, 0);
  await arrive('loop.done');
  expect(server.ids.filter((id) => id.startsWith('b-'))).toEqual([]);
  expect(JSON.parse(rig.loop('b').read('spec.json'))).toMatchObject({
    notices: [{ name: 'OPS', events: ['person.needed', 'login.expired', 'loop.set-aside'] }],
  });
  expect(rig.read('refused')).toContain('leave out --notify');
});
