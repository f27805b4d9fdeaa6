/**
 * The thread that ends the daemon when its main thread has stood still for too long, and notes for which loop it worked. It is a
 * file of its own, which `watchdog.ts` starts.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { noteTrouble } from '../home/trouble.ts';
import { reasonOf } from '../user-error.ts';
import { startDaemon } from './daemon-process.ts';
import { writeLog } from './log.ts';
import { BEAT, beatMs, LOOP, Stillness, type GuardData, type WatchedLoop } from './watchdog.ts';

// oxlint-disable-next-line no-unsafe-assignment -- what `watchdog.ts` gives it
const { shared, limitMs }: GuardData = workerData;
const loops = new Map<number, WatchedLoop>();
parentPort?.on('message', (loop: WatchedLoop) => {
  if (loop.files === null) loops.delete(loop.number);
  else loops.set(loop.number, loop);
});

const stillness = new Stillness(beatMs(limitMs), Atomics.load(shared, BEAT), performance.now());
setInterval(() => {
  if (stillness.look(Atomics.load(shared, BEAT), performance.now()) > limitMs) end();
}, beatMs(limitMs));

function end(): void {
  const loop = loops.get(Atomics.load(shared, LOOP)) ?? null;
  const what = `kept it busy for more than ${limitMs / 1000} s`;
  try {
    writeLog(`ended: ${loop === null ? 'something' : loop.id} ${what}`);
    if (loop !== null && loop.files !== null) {
      noteTrouble(loop.files, what);
      // The other loops of a night must not wait for the next command. Without a note the next daemon might fare no better.
      startDaemon();
    }
  } catch (error) {
    writeLog(`cannot note it: ${reasonOf(error)}`);
  } finally {
    process.kill(process.pid, 'SIGKILL');
  }
}
