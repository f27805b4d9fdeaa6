import { rmSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { makeLoopFolder, removeLoopFolder } from '../../test/rig/loop-folder.ts';
import { openJournal } from '../journal/file.ts';
import type { LoopEvent } from '../loop/event.ts';
import { RunTimes } from './run-times.ts';

function openTimes() {
  const folder = makeLoopFolder();
  onTestFinished(() => removeLoopFolder(folder));
  const journal = openJournal(folder.journal);
  onTestFinished(() => journal.close());
  return { folder, journal, times: new RunTimes({ folder, trouble: null }) };
}

const receipt = { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' };
const started = (run: string, at: number): LoopEvent => ({ type: 'run.started', run, receipt, at });
const ended = (run: string, at: number): LoopEvent => ({
  type: 'run.ended',
  run,
  ending: { how: 'exited', code: 0, error: null },
  as: 'ok',
  jitter: 0,
  at,
});

it('reads the journal once for all runs that have ended', () => {
  const { folder, journal, times } = openTimes();
  const events = [started('1.1', 10), ended('1.1', 20), started('2.1', 30), ended('2.1', 40)];
  for (const [at, event] of events.entries()) journal.append(event, at);
  expect(times.of(folder.run('1.1'))).toEqual({ startedAt: 10, endedAt: 20 });
  rmSync(folder.journal);
  expect(times.of(folder.run('2.1'))).toEqual({ startedAt: 30, endedAt: 40 });
});

it('reads it again for a run that has not ended', () => {
  const { folder, journal, times } = openTimes();
  const path = folder.run('1.1');
  expect(times.of(path)).toEqual({ startedAt: null, endedAt: null });
  journal.append(started('1.1', 10), 0);
  expect(times.of(path)).toEqual({ startedAt: 10, endedAt: null });
  journal.append(ended('1.1', 20), 1);
  expect(times.of(path)).toEqual({ startedAt: 10, endedAt: 20 });
});
