import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LoopEvent } from '../loop/event.ts';
import { evolve } from '../loop/evolve.ts';
import { INITIAL } from '../loop/initial.ts';
import { presets } from '../loop/presets.ts';
import { learn, NOTHING_KNOWN } from '../loop/report.ts';
import { openJournal, readJournal } from '../journal/file.ts';
import { logLines } from './iterations-log.ts';
import { completesIteration, progressEntry } from './progress-file.ts';
import { readSnapshot, snapshotText } from '../journal/snapshot.ts';
import { stateContent } from './state-file.ts';
import { localTime, preciseLocalTime } from '../text/times.ts';
import { duration } from '../loop/counted.ts';

const AT = new Date(2024, 0, 15, 10, 30, 0, 123).getTime();
const base = presets.swarm.policy;
const policy = {
  ...base,
  completion: {
    ...base.completion,
    detectors: [
      {
        kind: 'pattern',
        pattern: 'ALL DONE',
        scope: 'assistant-text',
        phase: 'after',
        history: 'loop',
      } as const,
    ],
  },
  checks: { ...base.checks, commands: [{ command: 'npm test', action: 'APPEND', hint: null } as const] },
  limits: { ...base.limits, iterations: 100 },
};
const output = (steps: number) =>
  ({
    type: 'run.output',
    run: '1.1',
    offset: 1,
    tokens: null,
    cost: { usd: 0.0234, source: 'reported' },
    steps,
    said: null,
    claim: null,
    claimEndsRun: false,
    limit: null,
  }) as const;
const result = { code: 1, timedOut: false, durationMs: 5, log: 'test.log' };

/** A loop whose first iteration fails its check, and whose second run fails. */
const events: LoopEvent[] = [
  { type: 'loop.created', name: 'agent', policy, at: AT },
  { type: 'iteration.started', iteration: 1, at: AT },
  { type: 'run.planned', run: '1.1', purpose: 'work', guidance: [], prompt: null, at: AT },
  { ...output(8), at: AT + 1000 },
  {
    type: 'run.ended',
    run: '1.1',
    ending: { how: 'exited', code: 0, error: null },
    as: 'ok',
    jitter: 0,
    strays: [{ pid: 7, command: 'daemon' }],
    at: AT + 15_000,
  },
  { type: 'checks.started', iteration: 1, run: '1.1', at: AT + 15_000 },
  {
    type: 'check.finished',
    iteration: 1,
    run: '1.1',
    index: 0,
    command: 'npm test',
    result,
    at: AT + 15_200,
  },
  { type: 'timer.fired', key: 'wait:1.1', at: AT + 15_200 },
  { type: 'iteration.started', iteration: 2, at: AT + 15_200 },
  { type: 'run.planned', run: '2.1', purpose: 'work', guidance: [], prompt: null, at: AT + 15_200 },
  {
    type: 'run.ended',
    run: '2.1',
    ending: { how: 'timed-out', which: 'inactivity' },
    as: 'failure',
    jitter: 0,
    at: AT + 357_200,
  },
  { type: 'control.received', id: 'p', control: { type: 'pause' }, at: AT + 357_300 },
  { type: 'loop.ended', outcome: { type: 'iterations-exhausted', limit: 100 }, at: AT + 357_400 },
];
const lived = (count: number = events.length) => {
  let known = NOTHING_KNOWN;
  const log: string[] = [];
  const progress: string[] = [];
  for (const event of events.slice(0, count)) {
    const before = known;
    if (completesIteration(event, before.state, before.report))
      progress.push(progressEntry(before.state, before.report, () => '1 test failed'));
    known = learn(before, event);
    log.push(...logLines(event, known.state, known.report));
  }
  return { ...known, log, progress };
};

describe('the projections', () => {
  it('S4.28 state.json has the eleven fields of its document, with local times', () => {
    const { state, report } = lived(9);
    const about = { id: 'a-1', workspace: '/w', promptFile: '/w/PROMPT.md', end: null };
    expect(stateContent(state, report, about)).toMatchObject({
      worker_name: 'agent',
      prompt_file: '/w/PROMPT.md',
      max_iterations: 100,
      current_iteration: 2,
      status: 'running',
      started: '2024-01-15T10:30:00.123000',
      last_iteration_started: '2024-01-15T10:30:15.323000',
      consecutive_failures: 0,
      total_failures: 0,
      done_pattern: 'ALL DONE',
      inactivity_timeout: 60,
    });
    const paused = lived(12);
    expect(stateContent(paused.state, paused.report, about)).toMatchObject({ status: 'paused' });
    const over = lived();
    expect(stateContent(over.state, over.report, about)).toMatchObject({
      status: 'stopped',
      total_failures: 1,
    });
  });

  it('S4.30 S4.98 iterations.log has the lines of its document', () => {
    expect(lived().log).toEqual([
      '2024-01-15T10:30:00 [START] iteration 1/100',
      '2024-01-15T10:30:15 [END] iteration 1 exit=0 duration=15s',
      '2024-01-15T10:30:15 [CHECK] iteration 1 exit=1 npm test',
      '2024-01-15T10:30:15 [START] iteration 2/100',
      '2024-01-15T10:35:57 [END] iteration 2 exit=timed-out duration=5m42s',
      '2024-01-15T10:35:57 [TIMEOUT] iteration 2 inactivity_timeout=60s',
      '2024-01-15T10:35:57 [FAIL] iteration 2 exit=timed-out attempt=1/5 backoff=1s',
      '2024-01-15T10:35:57 [PAUSE] loop paused reason=manual',
      '2024-01-15T10:35:57 [DONE] loop complete after 2 iterations reason=max_iterations',
    ]);
  });

  it('S3.28 progress.md has an entry for every iteration', () => {
    expect(lived().progress[0]).toBe(
      [
        '## Iteration 1 — FAIL',
        '',
        '- Steps: 8',
        '- Cost: $0.0234',
        '- Duration: 15.2s',
        '- Checks:',
        '  - npm test: FAIL — 1 test failed',
        '',
        '',
      ].join('\n'),
    );
    expect(lived().progress).toHaveLength(2);
  });

  it('the report counts runs and lists stray processes', () => {
    expect(lived().report).toMatchObject({
      runs: 2,
      strays: [{ pid: 7, command: 'daemon' }],
      endedAt: AT + 357_400,
    });
  });
});

describe('a snapshot', () => {
  let folder: string;
  let path: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ralph-snapshot-'));
    path = join(folder, 'journal.jsonl');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const half = 7;
  const write = () => {
    const journal = openJournal(path);
    for (const event of events.slice(0, half)) journal.append(event, journal.length);
    const { state, report } = lived(half);
    const snapshot = { mark: journal.mark, state, report, logBytes: 10, entries: 1 };
    writeFileSync(join(folder, 'snapshot.json'), snapshotText(snapshot));
    for (const event of events.slice(half)) journal.append(event, journal.length);
    journal.close();
    return readSnapshot(join(folder, 'snapshot.json'));
  };
  const read = (snapshot: ReturnType<typeof readSnapshot>) => {
    let isUsed = false;
    let state = INITIAL;
    readJournal(path, {
      knownMark: snapshot?.mark ?? null,
      begin(isKnown) {
        isUsed = isKnown;
        if (isKnown && snapshot !== null) ({ state } = snapshot);
      },
      take: (event) => {
        state = evolve(state, event);
      },
    });
    return { isUsed, state };
  };

  it('replaces the fold of its events with the same result', () => {
    expect(read(write())).toEqual({ isUsed: true, state: lived().state });
    expect(read(null)).toEqual({ isUsed: false, state: lived().state });
  });

  it('lets a journal be opened as if it had been read completely', () => {
    const snapshot = write();
    const known = snapshot?.mark ?? null;
    const short = openJournal(path, { knownMark: known, take: () => {} });
    const whole = openJournal(path);
    expect(short.mark).toEqual(whole.mark);
    expect(short.length).toBe(events.length);
    for (const journal of [short, whole]) journal.close();
  });

  it('is not used if the journal has changed, so that damage is still found', () => {
    const snapshot = write();
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"name":"agent"', '"name":"agenT"'));
    expect(() => read(snapshot)).toThrow(`${path}:2:`);
    writeFileSync(path, text.slice(0, 200));
    expect(read(snapshot).isUsed).toBe(false);
  });

  it('stands for a journal whose file is the same, which then need not be read', () => {
    const journal = openJournal(path);
    for (const event of events.slice(0, half)) journal.append(event, journal.length);
    expect(journal.mark.stamp).toBeUndefined();
    journal.sync();
    const { mark } = journal;
    journal.close();
    let isUsed = false;
    const reader = {
      knownMark: { ...mark, sum: 0 },
      begin: (isKnown: boolean) => (isUsed = isKnown),
      take: () => {},
    };
    const again = openJournal(path, reader);
    expect([isUsed, again.length, again.cutOff]).toEqual([true, half, null]);
    for (const event of events.slice(half)) again.append(event, again.length);
    again.close();
    openJournal(path, reader).close();
    expect(isUsed).toBe(false);
  });

  it('is not used if another version wrote it', () => {
    write();
    const file = join(folder, 'snapshot.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+ /, '0 '));
    expect(readSnapshot(file)).toBeNull();
    appendFileSync(file, 'x');
    expect(readSnapshot(file)).toBeNull();
  });
});

it('S4.102 formats times and durations for people', () => {
  expect([42_900, 222_000, 4_500_000].map((ms) => duration(ms, ' '))).toEqual(['42s', '3m 42s', '1h 15m']);
  expect(duration(342_000)).toBe('5m42s');
  expect(localTime(AT)).toBe('2024-01-15T10:30:00');
  expect(preciseLocalTime(AT)).toBe('2024-01-15T10:30:00.123000');
});
