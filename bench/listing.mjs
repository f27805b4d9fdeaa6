// Many loops: how long `ralph ls` takes, and the start of another loop.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, scratch } from './measure.mjs';

export function listing() {
  const box = scratch();
  const agent = box.program('agent', '#!/bin/sh\nread line\necho done\n');
  box.ralph('run', '-q', '-f', 'PROMPT.md', '--name', 'it', '-m', '3', '--', agent);
  multiply(box, 100);
  const first = box.ralph('ls').ms;
  const some = medians(15, {
    bare: () => box.time(process.execPath, ['-e', '0']).ms,
    listed: () => box.ralph('ls').ms,
  });
  const alone = scratch();
  const once = (place) => place.ralph('run', '-q', '-f', 'PROMPT.md', '-m', '1', '--', agent).ms;
  const runs = medians(9, { alone: () => once(alone), beside: () => once(box) });
  alone.done();
  multiply(box, 1000);
  const firstOfAll = box.ralph('ls', '--all').ms;
  const { all } = medians(9, { all: () => box.ralph('ls', '--all').ms });
  box.done();
  return [
    {
      what: `\`ralph ls\` with 100 ended loops; ${first.toFixed(0)} ms the first time`,
      ours: `${some.listed.toFixed(0)} ms`,
      against: `${some.bare.toFixed(0)} ms, \`node -e 0\``,
      ratio: some.listed / some.bare,
      limit: 2,
    },
    {
      what: '`ralph run` of one iteration where 100 loops have ended',
      ours: `${runs.beside.toFixed(0)} ms`,
      against: `${runs.alone.toFixed(0)} ms where none has`,
      ratio: runs.beside / runs.alone,
      limit: 1.3,
    },
    {
      what: `\`ralph ls --all\` with 1,000 ended loops; ${firstOfAll.toFixed(0)} ms the first time`,
      ours: `${all.toFixed(0)} ms`,
      against: '',
      value: all,
      limit: 500,
      unit: 'ms',
    },
  ];
}

/** Copies the loop `it` until there are so many. */
function multiply(box, count) {
  const state = join(box.root, 'state', 'ralph');
  const [workspace] = readdirSync(join(state, 'registry'));
  const it = readdirSync(join(state, 'loops')).find((id) => id.startsWith('it-'));
  const known = new Set(readdirSync(join(state, 'registry', workspace)));
  for (let number = 2; number <= count; number++) {
    const name = `loop${number}`;
    if (known.has(name)) continue;
    const id = it.replace('it-', `${name}-`);
    mkdirSync(join(state, 'loops', id));
    for (const file of ['journal.jsonl', 'lock', 'spec.json'])
      cpSync(join(state, 'loops', it, file), join(state, 'loops', id, file));
    const renamed = { id, name };
    edit(join(state, 'loops', id, 'spec.json'), renamed);
    cpSync(join(state, 'registry', workspace, 'it'), join(state, 'registry', workspace, name));
    edit(join(state, 'registry', workspace, name), renamed);
  }
}

function edit(file, changes) {
  writeFileSync(file, `${JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...changes })}\n`);
}
