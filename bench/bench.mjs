// Measures the built command and writes docs/performance.md: medians of one run on one machine, and what they may be.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { browserPage } from './browser-page.mjs';
import { listing } from './listing.mjs';
import { memoryOverTime, output } from './output.mjs';
import { repository } from './repository.mjs';
import { session } from './session.mjs';
import { startUp } from './start-up.mjs';
import { stopping } from './stopping.mjs';
import { streams } from './streams.mjs';
import { thousandLoops } from './thousand-loops.mjs';
import { watching } from './watching.mjs';

const parts = {
  startUp,
  listing,
  browserPage,
  session,
  repository,
  output,
  streams,
  memoryOverTime,
  stopping,
  watching,
  thousandLoops,
};
const chosen = process.argv.slice(2);
const lines = [];
for (const [name, measure] of Object.entries(parts)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  for (const row of await measure()) {
    const { isMet, cells } = judge(row);
    lines.push(`| ${cells.join(' | ')} |`);
    process.stdout.write(`${isMet ? 'ok  ' : 'SLOW'} ${cells.join(' | ')}\n`);
  }
}

/** A row with a baseline is judged by the ratio of both, any other by its value. */
function judge({ what, ours, bare, baseline, unit, limit }) {
  const hasBaseline = bare !== undefined;
  const measured = hasBaseline ? ours / bare : ours;
  const measuredIn = hasBaseline ? '×' : unit;
  const against = hasBaseline ? `${rounded(bare, unit)}, ${baseline}` : '';
  return {
    isMet: measured <= limit,
    cells: [what, rounded(ours, unit), against, rounded(measured, measuredIn), rounded(limit, measuredIn)],
  };
}

function rounded(value, unit) {
  return `${Number(value.toPrecision(3))} ${unit}`.trim();
}

if (chosen.length === 0) {
  const node = process.version;
  const system = execFileSync('uname', ['-sm'], { encoding: 'utf8' }).trim();
  const page = `# Performance

Written by \`npm run bench\`: medians of one run on ${system} with ${cpus().length} cores and Node ${node}. Ralph and its baseline take turns.
Times vary between machines and from minute to minute, so compare the ratios; their maxima are for Node 20. No test asserts a time.
What Ralph does for speed, and what was tried and removed, is in [decision 27](https://example.invalid/ralph-until-done/blob/main/docs/decisions/0027-only-speed-that-people-notice.md).

| what | Ralph | baseline | measured | maximum |
| --- | --- | --- | --- | --- |
${lines.join('\n')}
`;
  const path = fileURLToPath(new URL('../docs/performance.md', import.meta.url));
  writeFileSync(path, page);
  execFileSync('npx', ['oxfmt', path], { stdio: 'ignore' });
}
