// Measures the built command and writes docs/performance.md: ratios and medians of one run on one machine.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { checkpoint } from './checkpoint.mjs';
import { listing } from './listing.mjs';
import { iterations } from './iterations.mjs';
import { memoryOverTime, output } from './output.mjs';
import { repository } from './repository.mjs';
import { session } from './session.mjs';
import { startUp } from './start-up.mjs';
import { stopping } from './stopping.mjs';
import { streams } from './streams.mjs';
import { thousandLoops } from './thousand-loops.mjs';

const parts = {
  iterations,
  repository,
  startUp,
  listing,
  session,
  output,
  streams,
  memoryOverTime,
  stopping,
  checkpoint,
  thousandLoops,
};
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
    ratio === undefined ? `maximum ${limit} ${unit}` : `ratio ${ratio.toFixed(2)}, maximum ${limit}`;
  return { value: measured <= limit, text };
}

if (chosen.length === 0) {
  const node = process.version;
  const system = execFileSync('uname', ['-sm'], { encoding: 'utf8' }).trim();
  const table = rows.map((row) => {
    const bound = row.ratio === undefined ? `${row.limit} ${row.unit}`.trim() : `${row.limit} ×`;
    const measured = row.ratio === undefined ? row.ours : `${row.ratio.toFixed(2)} ×`;
    return `| ${row.what} | ${row.ours} | ${row.against} | ${measured} | ${bound} |`;
  });
  const page = `# Performance

Written by \`npm run bench\`: medians of one run on ${system} with ${cpus().length} cores and Node ${node}. Ralph and its baseline take turns.
Times vary between machines and from minute to minute, so compare the ratios. No test asserts a time.
An iteration creates five files and two folders, the bare loop none. For minutes after thousands of files were deleted nearby, ext4 needs
30 times as long to create one, and the ratio of the first two rows rises.

| what | Ralph | baseline | measured | maximum |
| --- | --- | --- | --- | --- |
${table.join('\n')}
`;
  const path = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
  writeFileSync(path, page);
  execFileSync('npx', ['oxfmt', path], { stdio: 'ignore' });
}
