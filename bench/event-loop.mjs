// Loaded into a process with `--import`: measures the longest delay of its event loop from its start, and writes it to
// RALPH_BENCH_DELAYS in milliseconds when it gets SIGUSR2. The next SIGUSR2 starts a new measurement; in between there is
// none, because it takes CPU time.
import { writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 5;
const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
let isMeasuring = delays.enable();
process.on('SIGUSR2', () => {
  if (isMeasuring) delays.disable();
  const longest = isMeasuring ? delays.max / 1e6 - RESOLUTION_MS : 0;
  isMeasuring = !isMeasuring;
  if (isMeasuring) {
    delays.reset();
    delays.enable();
  }
  writeFileSync(process.env.RALPH_BENCH_DELAYS, String(longest));
});
