// How long a person waits for the list of all loops.
import { join } from 'node:path';
import { medians, NODE, PROJECT, scratch } from './measure.mjs';

const COUNT = 1000;

export function listing() {
  const box = scratch();
  const { status, stderr } = box.time(process.execPath, [
    join(PROJECT, 'bench/end-loops.mjs'),
    box.workspace,
    String(COUNT),
  ]);
  if (status !== 0) throw new Error(`cannot run loops: ${stderr}`);
  const { bare, all } = medians(9, {
    bare: () => box.bareNode(),
    all: () => box.ralph('ls', '--all').ms,
  });
  const what = `\`ralph ls --all\` with ${COUNT} ended loops`;
  return [{ what, ours: all, unit: 'ms', bare, baseline: NODE, limit: 25 }];
}
