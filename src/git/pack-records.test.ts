import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { countLoose, packRecords, Packing } from './pack-records.ts';
import { takeCheckpoint } from './records.ts';
import { recordName } from './refs.ts';
import { join } from 'node:path';
import { until } from '../../test/rig/cli/until.ts';

const IT = { id: 'it-1a2b3c4d', name: 'it' };
let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

const takes = (iteration: number) => takeCheckpoint(at.repository(), IT, iteration, at.scratch);
const isLoose = (id: string) => existsSync(at.path(`.git/objects/${id.slice(0, 2)}/${id.slice(2)}`));
const packs = () => readdirSync(at.path('.git/objects/pack')).filter((name) => name.endsWith('.pack'));
const id = (revision: string) => at.git('rev-parse', revision).trim();

it('packs the objects of records, and leaves those of the user loose, reachable or not', async () => {
  at.write('b', 'by the loop');
  await takes(1);
  at.write('b', 'by the loop, again');
  await takes(2);
  at.write('staged', 'staged');
  at.git('add', 'staged');
  at.write('c', 'unreachable');
  const unreachable = at.git('hash-object', '-w', 'c').trim();
  const users = [id('HEAD'), id('HEAD:a'), id(':staged'), unreachable];
  const ours = [`${recordName(IT.id, '1')}:b`, recordName(IT.id, '2'), `${recordName(IT.id, '2')}:b`].map(id);
  expect([...users, ...ours].every(isLoose)).toBe(true);
  expect(await packRecords(at.repository())).toBe(6);
  expect([users.map(isLoose), ours.map(isLoose)]).toEqual([users.map(() => true), ours.map(() => false)]);
  expect(at.git('show', `${recordName(IT.id, '1')}:b`)).toBe('by the loop');
  at.git('fsck', '--strict');
  // There is nothing left to pack.
  expect([await packRecords(at.repository()), packs().length]).toEqual([0, 1]);
  expect(readdirSync(at.path('.git/objects')).filter((name) => name.startsWith('ralph'))).toEqual([]);
});

it('leaves nothing behind when it is interrupted or an earlier process was killed, and runs no hook', async () => {
  await takes(1);
  at.write('.git/hooks/pre-auto-gc', '#!/bin/sh\n: >hook-was-here\n');
  chmodSync(at.path('.git/hooks/pre-auto-gc'), 0o755);
  mkdirSync(at.path('.git/objects/ralph-pack-999999999-1/pack'), { recursive: true });
  // Git is asked for the folder only once.
  await countLoose(at.repository());
  const interrupted = { ...at.repository(), interrupt: AbortSignal.abort() };
  await expect(packRecords(interrupted)).rejects.toThrow('git');
  expect(readdirSync(at.path('.git/objects')).filter((name) => name.startsWith('ralph'))).toEqual([]);
  expect(packs()).toEqual([]);
  expect(existsSync(at.path('hook-was-here'))).toBe(false);
});

it('packs with low priority once there are many loose objects, and ends with its loop', async () => {
  await takeCheckpoint(at.repository(), { id: 'it-1', name: 'it' }, 1, at.scratch);
  const program = join(at.folder, 'slow-git');
  const pidFile = join(at.folder, 'pid');
  const script = `case "$*" in *pack-objects*) echo $$ >'${pidFile}'; exec sleep 300;; *) exec git "$@";; esac`;
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  const repository = { ...at.repository(), command: [program] as const };

  const idle = new Packing();
  idle.consider(repository);
  await idle.end();
  expect(existsSync(pidFile)).toBe(false);

  mkdirSync(at.path('.git/objects/17'), { recursive: true });
  for (let index = 0; index < 25; index++) at.write(`.git/objects/17/${index}`, '');
  const packing = new Packing();
  packing.consider(repository);
  const isWritten = (): true | null => (existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '') || null;
  await until('the pid of the program', isWritten, { everyMs: 5 });
  const process = `/proc/${readFileSync(pidFile, 'utf8').trim()}`;
  expect(readFileSync(`${process}/stat`, 'utf8').split(' ')[18]).toBe('19');
  await packing.end();
  expect(existsSync(process)).toBe(false);
});
