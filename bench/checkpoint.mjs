// What it takes to put a big working tree on record, against git's own look at it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { takeCheckpoint } from '../dist/git/records.js';
import { mediansAsync, scratch } from './measure.mjs';

const FILES = 50_000;
const A_FOLDER = 100;

/** A repository of many files, ten of which change between any two measurements, as an agent's would. */
export async function checkpoint() {
  const box = scratch();
  const git = (...args) => execFileSync('git', args, { cwd: box.workspace, env: box.env });
  git('init', '--quiet');
  // Nobody tidies up in between.
  git('config', 'gc.auto', '0');
  git('config', 'maintenance.auto', 'false');
  for (let index = 0; index < FILES; index++) {
    const folder = join(box.workspace, `folder-${Math.floor(index / A_FOLDER)}`);
    if (index % A_FOLDER === 0) mkdirSync(folder);
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
