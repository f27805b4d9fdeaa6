import { spawn } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { heldLock } from '../../test/rig/held-lock.ts';
import {
  closed,
  isOpen,
  readRecord,
  RUNNING_UNTIL,
  updateRecord,
  writeRecord,
  type RunRecord,
} from './run-record.ts';

const record: RunRecord = {
  version: 1,
  run_id: 'a-12345678.2.1',
  previous_run_id: 'a-12345678.1.1',
  project_id: 'p',
  task_id: 'a',
  agent: 'custom',
  pid: 7,
  pgid: 7,
  start_time: new Date('2025-06-01T10:00:00Z'),
  end_time: RUNNING_UNTIL,
  exit_code: -1,
  status: 'running',
  commandline: "sh -c ': # \"'",
  agent_version: '',
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-record-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const path = (name = 'run-info.yaml'): string => join(folder, name);
const within = <T>(use: (folder: string) => T): T => use(folder);

describe('a record', () => {
  it('S1.62 has its fields in order, times without quotation marks, and the zero time while the run is open', () => {
    writeRecord(folder, record);
    expect(readFileSync(path(), 'utf8')).toBe(
      [
        'version: 1',
        'run_id: a-12345678.2.1',
        'previous_run_id: a-12345678.1.1',
        'project_id: p',
        'task_id: a',
        'agent: custom',
        'pid: 7',
        'pgid: 7',
        'start_time: 2025-06-01T10:00:00.000Z',
        'end_time: 0001-01-01T00:00:00.000Z',
        'exit_code: -1',
        'status: running',
        `commandline: 'sh -c '': # "'''`,
        "agent_version: ''",
        '',
      ].join('\n'),
    );
    expect(isOpen(readRecord(folder) ?? { pgid: 1, end_time: 'x' })).toBe(true);
  });

  it('S1.63 is readable for everyone and leaves no temporary file', () => {
    writeRecord(folder, record);
    writeRecord(folder, record);
    expect(statSync(path()).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(['run-info.yaml']);
  });

  it('S1.63 is whole whenever another process reads it (T017)', async () => {
    writeRecord(folder, record);
    const script = `
      import { readFileSync } from 'node:fs';
      console.log('ready');
      let reads = 0, torn = 0;
      process.stdin.once('data', () => { console.log(JSON.stringify({ reads, torn })); process.exit(); });
      const look = () => {
        for (let i = 0; i < 50; i++, reads++)
          if (!readFileSync(process.argv[1], 'utf8').endsWith("agent_version: ''\\n")) torn++;
        setImmediate(look);
      };
      look();`;
    const reader = spawn(process.execPath, ['--input-type=module', '-e', script, path()]);
    onTestFinished(() => void reader.kill('SIGKILL'));
    const next = (): Promise<string> =>
      new Promise((resolve) => reader.stdout.once('data', (text) => resolve(String(text))));
    await next();
    const long = 'x'.repeat(40_000);
    for (let index = 0; index < 100; index++)
      writeRecord(folder, { ...record, commandline: long.slice(index) });
    const answer = next();
    reader.stdin.write('\n');
    expect(await answer).toMatch(/^\{"reads":[1-9]\d*,"torn":0\}\n$/);
  });

  it.each([
    ['a list', '- 1\n', 'the value must be an object, got [1]'],
    ['no YAML', 'a: [b\n', 'deficient indentation'],
    ['without a pgid', 'run_id: x\n', 'pgid is required and must be a whole number'],
    ['a number for an id', 'pgid: 1\nparent_run_id: 7\n', 'parent_run_id must be'],
    ['too long', `pgid: 1\n#${'x'.repeat(70_000)}\n`, 'is too long'],
  ])('that is %s is refused', (_, text, message) => {
    writeFileSync(path(), text);
    expect(() => readRecord(folder)).toThrow(message);
  });

  it('that is a link is refused, and a missing one is none', () => {
    expect(readRecord(folder)).toBeNull();
    writeFileSync(path('elsewhere'), 'pgid: 1\n');
    symlinkSync(path('elsewhere'), path());
    expect(() => readRecord(folder)).toThrow('is a symbolic link');
  });
});

describe('closing a record of another program', () => {
  const now = new Date('2025-06-01T11:00:00Z');
  const text =
    'run_id: x\npgid: 7\nstart_time: 2025-06-01T10:00:00Z\nexit_code: 0\nstatus: running\nmine: [kept]\n';
  const after = async (isDone: boolean): Promise<unknown> => {
    writeFileSync(path(), text);
    expect(await updateRecord(within, (found) => closed(found, now, { isDone }))).toBe(true);
    return load(readFileSync(path(), 'utf8'));
  };

  it('S1.56 S1.65 says failed and keeps the rest', async () => {
    expect(await after(false)).toEqual({
      run_id: 'x',
      pgid: 7,
      start_time: '2025-06-01T10:00:00.000Z',
      end_time: '2025-06-01T11:00:00.000Z',
      exit_code: -1,
      status: 'failed',
      error_summary: 'reconciled stale running status: process is not alive',
      mine: ['kept'],
    });
    expect(readFileSync(path(), 'utf8')).toContain('\nend_time: 2025-06-01T11:00:00.000Z\n');
    expect(closed({ pgid: 7, exit_code: 3 }, now, { isDone: false })).toMatchObject({ exit_code: 3 });
  });

  it('S1.65 says completed if the task is done', async () => {
    expect(await after(true)).toMatchObject({
      status: 'completed',
      error_summary: 'reconciled stale running status: task DONE marker is present',
    });
  });

  it(
    'S1.63 waits for the lock of another process, and gives up after a while',
    { tags: ['flock'] },
    async () => {
      writeFileSync(path(), text);
      const { release } = await heldLock(path('run-info.yaml.lock'));
      const change = () => ({ pgid: 1, changed: true });
      expect(await updateRecord(within, change, { lockWithinMs: 1 })).toBe(false);
      expect(readFileSync(path(), 'utf8')).toBe(text);
      const waiting = updateRecord(within, change);
      release();
      expect(await waiting).toBe(true);
      expect(load(readFileSync(path(), 'utf8'))).toEqual({ pgid: 1, changed: true });
    },
  );
});
