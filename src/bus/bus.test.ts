import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { heldLock } from '../../test/rig/held-lock.ts';
import { busAt, nearestBus, pathOf, TASK_BUS } from './bus-file.ts';
import { MAX_BODY_BYTES, messagesAfter, post, readMessages, UnknownMessage, watchMessages } from './bus.ts';
import { draft, type Draft } from './message.ts';
import { nextId } from './message-id.ts';

const POSTER = fileURLToPath(new URL('../../test/fixtures/posts-messages.mjs', import.meta.url));

let workspace: string;
let workspaceFolder: string;
let path: string;
beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-bus-')));
  workspaceFolder = join(workspace, '.ralph', 'loops', 'a');
  path = join(workspaceFolder, TASK_BUS);
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
});
const bus = () => busAt(path);
const say = (body: string, more: Partial<Draft> = {}): Promise<string> =>
  post(bus(), draft({ type: 'INFO', projectId: 'project', body, ...more }));
const bodies = (): readonly string[] => readMessages(bus()).map(({ body }) => body);
/** Starts a program and ends it with the test. */
const start = (command: string, args: readonly string[]) => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, ended, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
};
describe('post', () => {
  it('S1.76 S1.77 S1.78 T030 appends messages with new ids, and they read back', async () => {
    const given: Draft = {
      type: 'ISSUE',
      projectId: 'project',
      taskId: 'task',
      runId: 'run',
      parents: [{ id: 'MSG-1', kind: 'about', meta: { a: 'b' } }],
      links: [{ url: 'https://example.org', label: 'docs' }],
      meta: { key: 'value\n---\n' },
      body: 'one\n---\n\ntwo\n\n',
    };
    const first = await post(bus(), given);
    const second = await say('\u0000\u001b[31m \ud83d\ude00');
    expect(first).toMatch(/^MSG-\d{8}-\d{6}-\d{9}-PID\d{5}-\d{4}$/);
    const [issue, info] = readMessages(bus());
    expect(issue).toEqual({ ...given, id: first, issueId: first, ts: issue?.ts });
    expect(issue?.ts).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(info).toMatchObject({ id: second, body: '\u0000\u001b[31m \ud83d\ude00' });
  });

  it('S1.78 gives ids that sort in the order of the file, and do not follow one from the future', () => {
    const now = () => 1_770_285_600_123_456_789n;
    const { id, ts } = nextId(null, now);
    expect(id).toMatch(/^MSG-20260205-100000-123456789-PID/);
    expect(ts).toBe('2026-02-05T10:00:00.123Z');
    expect(nextId(id, () => now() - 1_000_000n).id).toMatch(/^MSG-20260205-100000-123456790-PID/);
    expect(nextId('MSG-20990101-000000-000000000-PID00001-0001', now).id).toMatch(/^MSG-20260205-/);
    expect(nextId('LEGACY-LINE-000000001', now).id).toMatch(/^MSG-20260205-/);
  });

  it('S1.79 has every type of document 000, and any other', async () => {
    const types =
      'INFO WARNING WARN ERROR FACT PROGRESS DECISION QUESTION USER ISSUE RUN_START RUN_STOP RUN_CRASH wait_without_restart other:'.split(
        ' ',
      );
    for (const type of types) {
      // oxlint-disable-next-line no-await-in-loop -- in this order
      await say('text', { type });
    }
    expect(readMessages(bus()).map(({ type }) => type)).toEqual(types);
  });

  it('S1.78 refuses a message without a type or project, a body that is too long and an invalid parent', async () => {
    await expect(say('text', { type: ' ' })).rejects.toThrow('a message needs a type');
    await expect(say('text', { projectId: '' })).rejects.toThrow('a message needs a project id');
    await expect(say('ä'.repeat(MAX_BODY_BYTES / 2 + 1))).rejects.toThrow(
      'the message is too long: 262146 bytes (maximum 262144)',
    );
    await expect(say('', { meta: { a: 'a'.repeat(70_000) } })).rejects.toThrow('are too long: 70');
    await expect(say('', { parents: [{ id: 'no id' }] })).rejects.toThrow('invalid id of a message: "no id"');
    expect(existsSync(path)).toBe(false);
    await say('ä'.repeat(MAX_BODY_BYTES / 2));
    expect(bodies()).toHaveLength(1);
  });

  it.each([
    ['a link', () => symlinkSync(join(workspace, 'elsewhere'), path), 'it is a symbolic link'],
    ['a FIFO', () => execFileSync('mkfifo', [path]), 'not a regular file'],
    ['a folder', () => mkdirSync(path), 'it is a folder'],
  ])('S1.80 T033 refuses %s', async (_, make, reason) => {
    mkdirSync(workspaceFolder, { recursive: true });
    make();
    const message = `cannot use the message bus ${path}: `;
    await expect(say('text')).rejects.toThrow(message);
    await expect(say('text')).rejects.toThrow(reason);
    expect(() => readMessages(bus())).toThrow(message);
    expect(existsSync(join(workspace, 'elsewhere'))).toBe(false);
  });

  it('S1.80 refuses a link on the way to the bus', async () => {
    mkdirSync(join(workspace, '.ralph', 'loops'), { recursive: true });
    mkdirSync(join(workspace, 'elsewhere'));
    symlinkSync(join(workspace, 'elsewhere'), workspaceFolder);
    await expect(say('text')).rejects.toThrow('it is a symbolic link');
    expect(existsSync(join(workspace, 'elsewhere', TASK_BUS))).toBe(false);
  });

  it(
    'S1.80 T034 waits for a lock that another process holds, and gives up after its time',
    { tags: ['flock'] },
    async () => {
      await say('before');
      const { release } = await heldLock(path);
      const one = draft({ type: 'INFO', projectId: 'project', body: 'too late' });
      await expect(post(bus(), one, 50)).rejects.toThrow(
        `cannot post to ${path}: another process has held its lock for 0.05 s`,
      );
      const posted = say('after');
      release();
      await posted;
      expect(bodies()).toEqual(['before', 'after']);
    },
  );

  it(
    'S1.80 posts to the new file if the bus was replaced while it waited for the lock',
    { tags: ['flock'] },
    async () => {
      await say('old');
      const { release } = await heldLock(path);
      const posted = say('new');
      renameSync(path, `${path}.archived`);
      release();
      await posted;
      expect(bodies()).toEqual(['new']);
    },
  );

  it(
    'S1.80 T031 loses nothing when 20 processes append 50 messages each',
    { tags: ['flock'], timeout: 120_000 },
    async () => {
      const posters = Array.from({ length: 20 }, () => start(process.execPath, [POSTER, path, '50']));
      await Promise.all(posters.map(({ ended }) => ended));
      const messages = readMessages(bus());
      expect(messages).toHaveLength(1000);
      expect(new Set(messages.map(({ id }) => id)).size).toBe(1000);
      expect(messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id).toSorted());
      for (const { child } of posters) {
        const own = messages.filter(({ body }) => body.startsWith(`${child.pid} `));
        expect(own.map(({ body }) => body.split('\n').at(-1))).toEqual(
          Array.from({ length: 50 }, (_, index) => `end ${index + 1}`),
        );
      }
    },
  );

  it('S1.81 T033 loses no reported message when its writers are killed, and the next one continues', async () => {
    const reported: string[] = [];
    for (let round = 0; round < 5; round++) {
      const { child, ended, lines } = start(process.execPath, [POSTER, path, '1000']);
      for (let count = 0; count < 3; count++) {
        // oxlint-disable-next-line no-await-in-loop -- one writer after the other
        reported.push(String((await lines.next()).value));
      }
      child.kill('SIGKILL');
      // oxlint-disable-next-line no-await-in-loop -- one writer after the other
      await ended;
      // What a kill in the middle of a write leaves.
      if (round % 2 === 0)
        appendFileSync(path, '\n---\nmsg_id: MSG-torn\ntype: INFO\nbody_bytes: 9\n---\nhalf');
    }
    const last = await say('last');
    const ids = readMessages(bus()).map(({ id }) => id);
    expect(reported.filter((id) => !ids.includes(id))).toEqual([]);
    expect(ids.at(-1)).toBe(last);
    expect(ids).not.toContain('MSG-torn');
  }, 60_000);

  it('writes the whole message or nothing on a full disk', async () => {
    await say('before');
    const before = readFileSync(path);
    const script = `
      const { post } = await import(${JSON.stringify(new URL('../../dist/bus/bus.js', import.meta.url).href)});
      const { busAt } = await import(${JSON.stringify(new URL('../../dist/bus/bus-file.js', import.meta.url).href)});
      const { draft } = await import(${JSON.stringify(new URL('../../dist/bus/message.js', import.meta.url).href)});
      process.on('SIGXFSZ', () => {});
      await post(busAt(${JSON.stringify(path)}), draft({ type: 'INFO', projectId: 'p', body: 'x'.repeat(9000) }))
        .catch((error) => console.log(error.message));`;
    // The limit of the shell is in blocks of 512 or 1024 bytes: at most 4 kB.
    const printed = execFileSync(
      'sh',
      ['-c', 'ulimit -f 4; exec "$0" --input-type=module -e "$1"', process.execPath, script],
      { encoding: 'utf8' },
    );
    expect(printed).toContain(`cannot use the message bus ${path}: `);
    expect(readFileSync(path)).toEqual(before);
  });
});

describe('readMessages', () => {
  it('S1.81 returns the last ones, or those after an id, and reports an unknown id', async () => {
    expect(readMessages(bus())).toEqual([]);
    const ids = [await say('1'), await say('2'), await say('3')];
    expect(readMessages(bus(), { tail: 2 }).map(({ body }) => body)).toEqual(['2', '3']);
    expect(readMessages(bus(), { tail: 0 })).toEqual([]);
    expect(readMessages(bus(), { since: ids[0], tail: 1 }).map(({ body }) => body)).toEqual(['3']);
    expect(readMessages(bus(), { since: ids[2] })).toEqual([]);
    expect(() => readMessages(bus(), { since: 'MSG-9' })).toThrow(UnknownMessage);
    expect(() => readMessages(bus(), { since: 'MSG-9' })).toThrow(`no message MSG-9 on ${path}`);
  });

  it('S1.81 finds messages further back than the first part that it reads', async () => {
    const first = await say('first');
    await say('x'.repeat(100_000));
    await say('last');
    expect(readMessages(bus(), { since: first }).map(({ body }) => body.length)).toEqual([100_000, 4]);
    expect(readMessages(bus(), { tail: 3 })).toHaveLength(3);
    expect(readMessages(bus(), { maxBytes: 50_000 }).map(({ body }) => body)).toEqual(['last']);
  });

  it('S1.81 reads only the end of a bus of 1 GB, and still appends to it', async () => {
    mkdirSync(workspaceFolder, { recursive: true });
    writeFileSync(path, '');
    truncateSync(path, 1024 ** 3);
    const id = await say('after the flood');
    await say('last');
    expect(statSync(path).size).toBeGreaterThan(1024 ** 3);
    expect(bodies()).toEqual(['after the flood', 'last']);
    expect(messagesAfter(bus(), id).map(({ body }) => body)).toEqual(['last']);
    expect(messagesAfter(bus(), 'MSG-19990101-000000-000000000-PID00001-0001')).toHaveLength(2);
  });
});

describe('messagesAfter', () => {
  it('returns the later ones, also after the file was rewritten', async () => {
    const [one, two] = [await say('1'), await say('2')];
    expect(messagesAfter(bus(), null)).toHaveLength(2);
    expect(messagesAfter(bus(), one).map(({ id }) => id)).toEqual([two]);
    rmSync(path);
    expect(messagesAfter(bus(), two)).toEqual([]);
    await say('3');
    expect(messagesAfter(bus(), two).map(({ body }) => body)).toEqual(['3']);
  });

  it('returns new ones in a new file, if the last message of the old one had a made-up id', async () => {
    await say('new');
    for (const forged of [
      'MSG-20990101-000000-000000000-PID00001-0001',
      'other-tool-7',
      'LEGACY-LINE-000000000',
    ])
      expect(messagesAfter(bus(), forged).map(({ body }) => body)).toEqual(['new']);
    const line = '[2026-02-05 10:00:00] INFO: old format\n';
    const id = await say('last');
    writeFileSync(path, line);
    expect(messagesAfter(bus(), id).map(({ body }) => body)).toEqual(['old format']);
  });
});

describe('watchMessages', () => {
  it('S1.82 calls back with each message once, also in a file that is made later', async () => {
    const seen: string[] = [];
    let found = (): void => {};
    const stop = watchMessages(bus(), null, (messages) => {
      seen.push(...messages.map(({ body }) => body));
      found();
    });
    onTestFinished(stop);
    for (const body of ['1', '2', '3']) {
      const next = new Promise<void>((resolve) => (found = resolve));
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await say(body);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await next;
    }
    expect(seen).toEqual(['1', '2', '3']);
  });
});

describe('busAt', () => {
  it('checks every folder below .ralph', () => {
    expect(busAt('/w/.ralph/loops/a/TASK-MESSAGE-BUS.md')).toEqual({
      root: '/w',
      parts: ['.ralph', 'loops', 'a'],
      name: TASK_BUS,
    });
    expect(busAt('/w/task/TASK-MESSAGE-BUS.md')).toEqual({ root: '/w/task', parts: [], name: TASK_BUS });
    expect(pathOf(bus())).toBe(path);
  });

  it('S1.82 is also found from a folder below it', async () => {
    expect(nearestBus(workspace)).toBe(null);
    await say('text');
    expect(nearestBus(join(workspaceFolder, 'runs', '0001'))).toEqual(bus());
    await post(
      busAt(join(workspace, '.ralph', 'PROJECT-MESSAGE-BUS.md')),
      draft({ type: 'INFO', projectId: 'p', body: 'x' }),
    );
    expect(nearestBus(join(workspace, 'src'))).toMatchObject({ root: workspace, parts: ['.ralph'] });
  });
});
