// Measures the built command and writes docs/performance.md. Figures are ratios and medians of one run on one machine.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkpoint } from './checkpoint.mjs';
import { iterations } from './iterations.mjs';
import { memoryOverTime, output } from './output.mjs';
import { startUp } from './start-up.mjs';
import { stopping } from './stopping.mjs';

const parts = { iterations, startUp, output, memoryOverTime, stopping, checkpoint };
const chosen = process.argv.slice(2);
const rows = [];
for (const [name, measure] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  for (const row of await measure()) {
    rows.push(row);
    const { value, text } = judge(row);
    process.stdout.write(`${value ? 'ok  ' : 'SLOW'} ${row.what}: ${row.ours} (${text})\n`);
  }
}

function judge({ ratio, value, limit, unit }) {
  const measured = ratio ?? value;
  const text =
    ratio === undefined ? `at most ${limit} ${unit}` : `${ratio.toFixed(2)} times, at most ${limit}`;
  return { value: measured <= limit, text };
}

if (chosen.length === 0) {
  const node = process.version;
  const sh = execFileSync('uname', ['-sm'], { encoding: 'utf8' }).trim();
  const table = rows.map((row) => {
    const bound = row.ratio === undefined ? `${row.limit} ${row.unit}`.trim() : `${row.limit} ×`;
    const measured = row.ratio === undefined ? row.ours : `${row.ratio.toFixed(2)} ×`;
    return `| ${row.what} | ${row.ours} | ${row.against} | ${measured} | ${bound} |`;
  });
  const page = `# Performance

Written by \`npm run bench\`: medians of one run, ours and the other in turns, on ${sh} with ${cpus().length} cores and Node ${node}.
The times differ from machine to machine and from minute to minute; the ratios are what counts. No test asserts a time.
An iteration makes six files and the bare loop none: for minutes after thousands of files were removed nearby, ext4 takes
thirty times as long for each, and the first two rows then come to about four.

| what | ours | against | measured | at most |
| --- | --- | --- | --- | --- |
${table.join('\n')}
`;
  const path = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
  writeFileSync(path, page);
  execFileSync('npx', ['oxfmt', path], { stdio: 'ignore' });
}
