import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { takeCheckpoint } from '../git/records.ts';
import { Packing } from './packing.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

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
