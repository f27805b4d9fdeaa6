// The start-up time of the command, and the time that recovery adds.
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { medians, scratch } from './measure.mjs';

export function startUp() {
  const box = scratch();
  const agent = box.program('agent', '#!/bin/sh\nread line\necho done\n');
  box.ralph('run', '-q', '-f', 'PROMPT.md', '--name', 'small', '-m', '3', '--', agent);
  const all = medians(15, {
    bare: () => box.time(process.execPath, ['-e', '0']).ms,
    version: () => box.ralph('--version').ms,
    status: () => box.ralph('status', 'small').ms,
    run: () => timeToRun(box, agent),
    stop: () => box.ralph('stop', 'small').ms,
  });
  box.ralph('run', '-q', '-f', 'PROMPT.md', '--name', 'large', '-m', '100', '--', agent);
  const events = lengthen(box.journal('large'), 10_000);
  const whole = medians(5, {
    bare: () => box.time(process.execPath, ['-e', '0']).ms,
    recovered: () => box.ralph('status', 'large').ms,
  });
  // The next owner writes a snapshot, as a loop of this length would have one.
  box.ralph('resume', '-q', 'large', '-m', '10001');
  const recovery = medians(7, {
    bare: () => box.time(process.execPath, ['-e', '0']).ms,
    recovered: () => box.ralph('status', 'large').ms,
  });
  box.done();
  const row = (name, command, more = '', limit = 1.4) => ({
    what: `start-up of \`ralph ${command}\`${more}`,
    ours: `${all[name].toFixed(0)} ms`,
    against: `${all.bare.toFixed(0)} ms, \`node -e 0\``,
    ratio: all[name] / all.bare,
    limit,
  });
  const over = recovery.recovered - recovery.bare;
  return [
    row('version', '--version'),
    row('status', 'status', ' for an ended loop'),
    row('stop', 'stop', ' for an ended loop', 2.2),
    row('run', 'run -m 1', ', an agent that answers at once, outside of a repository', 4.5),
    {
      what: `recovery of a journal of 10,000 iterations (${events} events); ${(whole.recovered - whole.bare).toFixed(0)} ms without its snapshot`,
      ours: `${over.toFixed(0)} ms on top of start-up`,
      against: `${recovery.bare.toFixed(0)} ms, \`node -e 0\``,
      value: over,
      limit: 300,
      unit: 'ms',
    },
  ];
}

/** How long a loop of one iteration takes in a workspace without others. */
function timeToRun(box, agent) {
  const workspace = join(box.root, 'once');
  mkdirSync(workspace);
  writeFileSync(join(workspace, 'PROMPT.md'), 'do it\n');
  const { ms } = box.ralph(
    'run',
    '-q',
    '-f',
    join(workspace, 'PROMPT.md'),
    '--cwd',
    workspace,
    '-m',
    '1',
    '--',
    agent,
  );
  rmSync(workspace, { recursive: true });
  return ms;
}

/** Repeats the first iteration of a journal with new numbers; returns the number of events. */
function lengthen(path, iterations) {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const events = lines.slice(1).map((line) => JSON.parse(line).event);
  const first = events.findIndex(({ type }) => type === 'iteration.started');
  const created = events.slice(0, first);
  created[0].policy.limits.iterations = iterations + 1;
  const turn = events.slice(
    first,
    events.findIndex(({ type }, at) => at > first && type === 'iteration.started'),
  );
  const all = [...created];
  for (let iteration = 1; iteration <= iterations; iteration++) {
    for (const event of turn) all.push(renumber(event, iteration));
  }
  writeFileSync(path, `${lines[0]}\n`);
  let text = '';
  all.forEach((event, index) => {
    const json = JSON.stringify(event);
    const sum = crc32(`${index + 1}:${json}`)
      .toString(16)
      .padStart(8, '0');
    text += `{"n":${index + 1},"sum":"${sum}","event":${json}}\n`;
  });
  appendFileSync(path, text);
  return all.length;
}

function renumber(event, iteration) {
  return {
    ...event,
    ...('iteration' in event ? { iteration } : {}),
    ...('run' in event && event.run !== null ? { run: `${iteration}.1` } : {}),
    ...('key' in event ? { key: event.key.replace(/\d+\.1/, `${iteration}.1`) } : {}),
  };
}
