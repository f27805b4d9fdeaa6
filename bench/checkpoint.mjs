// The time to take a checkpoint of a large working tree, compared with `git status`.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeCheckpoint } from '../dist/git/records.js';
import { mediansAsync, scratch } from './measure.mjs';

const FILES = 50_000;
const FILES_PER_FOLDER = 100;

/** A repository of many files; ten files change before every measurement, as in an iteration. */
export async function checkpoint() {
  const box = scratch();
  const git = (...args) => execFileSync('git', args, { cwd: box.workspace, env: box.env });
  git('init', '--quiet');
  // Git's automatic maintenance would disturb the measurement.
  git('config', 'gc.auto', '0');
  git('config', 'maintenance.auto', 'false');
  for (let index = 0; index < FILES; index++) {
    const folder = join(box.workspace, `folder-${Math.floor(index / FILES_PER_FOLDER)}`);
    if (index % FILES_PER_FOLDER === 0) mkdirSync(folder);
    writeFileSync(join(folder, `file-${index}`), `${index}\n`.repeat(20));
  }
  git('add', '--all');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message', 'all');
  let iteration = 0;
  const change = () => {
    iteration++;
    for (let index = 0; index < 10; index++)
      writeFileSync(join(box.workspace, `folder-${index}`, `changed-${index}`), `${iteration}\n`);
  };
  const repository = { command: ['git'], folder: box.workspace, env: box.env };
  const loop = { id: 'bench-00000000', name: 'bench' };
  const timed = async (work) => {
    change();
    const began = performance.now();
    await work();
    return performance.now() - began;
  };
  const all = await mediansAsync(9, {
    status: () => timed(() => box.time('git', ['status', '--porcelain'])),
    ours: () => timed(() => takeCheckpoint(repository, loop, iteration, join(box.root, 'checkpoint-index'))),
  });
  box.done();
  return [
    {
      what: 'a checkpoint of 50,000 files, ten of them changed',
      ours: `${all.ours.toFixed(0)} ms`,
      against: `${all.status.toFixed(0)} ms, \`git status\``,
      ratio: all.ours / all.status,
      limit: 3,
    },
  ];
}
