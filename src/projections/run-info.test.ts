import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Happening, LoopEvent, RunClass, RunEnding } from '../loop/event.ts';
import { presets } from '../loop/presets.ts';
import { learn, NOTHING_KNOWN } from '../loop/report.ts';
import type { LoopFolder } from '../home/home.ts';
import { makeLoopFolder, removeLoopFolder } from '../../test/rig/loop-folder.ts';
import { iteration, planned, started } from '../../test/rig/given.ts';
import { RunInfo, type RunFacts } from './run-info.ts';

let folder: LoopFolder;
let outputs: string[] = [];
beforeEach(() => {
  outputs = [];
  folder = makeLoopFolder();
});
afterEach(() => removeLoopFolder(folder));

const facts: RunFacts = {
  ids: { project: 'w', task: 'it', parent: 'root-12345678.1.1' },
  idOf: (run) => `it-12345678.${run}`,
  agent: 'custom',
  cwd: '/w',
  commandline: 'agent',
};
const AT = Date.parse('2025-06-01T10:00:00Z');
const events = (preset: 'conductor' | 'default', ...happened: readonly Happening[]): readonly LoopEvent[] =>
  [{ type: 'loop.created', name: 'it', policy: presets[preset].policy } as const, ...happened].map(
    (event, index) => ({ ...event, at: AT + index * 1000 }),
  );
const ends = (run: string, as: RunClass, ending: RunEnding): Happening => ({
  type: 'run.ended',
  run,
  ending,
  as,
  jitter: 0,
});
const exits = (run: string, code: number): Happening =>
  ends(run, code === 0 ? 'ok' : 'failure', { how: 'exited', code, error: null });
const waits: Happening = { type: 'loop.ended', outcome: { type: 'waiting' } };
const first = [iteration(1), planned('1.1'), started('1.1')];

/** A projection that has taken these events before it went live, and the others afterwards. */
function project(before: readonly LoopEvent[], after: readonly LoopEvent[] = [], writesAll = false): RunInfo {
  const mask = (text: string): string => text.replaceAll('secret', '***');
  const writeOutput = (run: string): void => {
    const path = join(folder.workspaceFolder.run(run), 'run-info.yaml');
    const [, status = 'none'] = existsSync(path)
      ? (/^status: (.*)$/m.exec(readFileSync(path, 'utf8')) ?? [])
      : [];
    outputs.push(`${run} while the record says ${status}`);
  };
  const info = new RunInfo(folder, { run: () => facts, mask, writeOutput }, writesAll);
  let known = NOTHING_KNOWN;
  const take = (event: LoopEvent): void => {
    known = learn(known, event);
    info.take(event, known);
  };
  before.forEach(take);
  info.goLive();
  after.forEach(take);
  return info;
}
const record = (run: string): unknown =>
  load(readFileSync(join(folder.workspaceFolder.runs, run, 'run-info.yaml'), 'utf8'));
describe('the record of a run', () => {
  it('S1.62 says what runs, since when and for whom, and then how it ended', () => {
    const journal = events('conductor', ...first, exits('1.1', 0));
    project([], journal.slice(0, -1));
    const run = join(folder.workspaceFolder.runs, '0001');
    const open = {
      version: 1,
      run_id: 'it-12345678.1.1',
      parent_run_id: 'root-12345678.1.1',
      project_id: 'w',
      task_id: 'it',
      agent: 'custom',
      process_ownership: 'managed',
      pid: 1,
      pgid: 1,
      start_time: '2025-06-01T10:00:02.000Z',
      end_time: '0001-01-01T00:00:00.000Z',
      exit_code: -1,
      status: 'running',
      cwd: '/w',
      prompt_path: `${run}/prompt.md`,
      output_path: `${run}/output.md`,
      stdout_path: `${run}/agent-stdout.txt`,
      stderr_path: `${run}/agent-stderr.txt`,
      commandline: 'agent',
      agent_version: '',
    };
    expect(record('0001')).toEqual(open);
    project([], journal);
    expect(record('0001')).toEqual({
      ...open,
      end_time: '2025-06-01T10:00:04.000Z',
      exit_code: 0,
      status: 'completed',
    });
    expect(outputs).toEqual(['1.1 while the record says running']);
  });

  it('S1.62 names the run before it, in the same iteration or in the one before', () => {
    const interrupted = ends('1.1', 'interrupted', { how: 'interrupted' });
    project(
      [],
      events(
        'conductor',
        ...first,
        interrupted,
        { type: 'timer.fired', key: 'wait:1.1' },
        planned('1.2'),
        exits('1.2', 1),
        { type: 'timer.fired', key: 'wait:1.2' },
        iteration(2),
        planned('2.1'),
        started('2.1'),
      ),
    );
    expect(record('0001')).not.toHaveProperty('previous_run_id');
    expect(record('0001.2')).toMatchObject({ previous_run_id: 'it-12345678.1.1' });
    expect(record('0002')).toMatchObject({ previous_run_id: 'it-12345678.1.2', status: 'running' });
  });

  it.each<[string, RunClass, RunEnding, unknown]>([
    ['exit code 1', 'failure', { how: 'exited', code: 1, error: null }, 'agent reported failure'],
    ['exit code 2', 'failure', { how: 'exited', code: 2, error: null }, 'agent usage error'],
    ['exit code 137', 'failure', { how: 'exited', code: 137, error: null }, 'agent killed (OOM or signal)'],
    ['exit code 143', 'failure', { how: 'exited', code: 143, error: null }, 'agent terminated (SIGTERM)'],
    ['exit code 7', 'failure', { how: 'exited', code: 7, error: null }, 'agent exited with code 7'],
    ['inactivity', 'failure', { how: 'timed-out', which: 'inactivity' }, 'timed out'],
    ['its timeout', 'failure', { how: 'timed-out', which: 'wall' }, 'timed out'],
    [
      'a failed start',
      'fatal',
      { how: 'not-started', error: { kind: 'command-not-found', message: 'no secret' } },
      'no ***',
    ],
  ])('S1.64 sums up %s', (_, as, ending, summary) => {
    project([], events('conductor', ...first, ends('1.1', as, ending)));
    expect(record('0001')).toMatchObject({ status: 'failed', error_summary: summary });
  });

  it('S1.39 S1.64 has the signal that ended a run which took too long, if it is known', () => {
    const late = { how: 'timed-out', which: 'wall' } as const;
    project([], events('conductor', ...first, ends('1.1', 'failure', { ...late, code: 137 })));
    expect(record('0001')).toMatchObject({ exit_code: 137, error_summary: 'timed out' });
    project([], events('conductor', ...first, ends('1.1', 'failure', late)));
    expect(record('0001')).toMatchObject({ exit_code: -1, error_summary: 'timed out' });
  });

  it('S1.43 is stopped after a hand-over by exit code, marker file or message, and has no error', () => {
    const byCode = ends('1.1', 'wait', { how: 'exited', code: 42, error: null });
    project([], events('conductor', ...first, byCode, waits));
    expect(record('0001')).toMatchObject({ status: 'stopped', exit_code: 42 });
    project([], events('conductor', ...first, exits('1.1', 1), waits));
    expect(record('0001')).toMatchObject({ status: 'stopped', exit_code: 1 });
    expect(record('0001')).not.toHaveProperty('error_summary');
  });

  it('S1.65 is repaired by the next owner if its owner died before it could write the end', () => {
    const journal = events('conductor', ...first, exits('1.1', 0));
    project([], journal.slice(0, -1));
    expect(record('0001')).toMatchObject({ status: 'running' });
    project(journal);
    expect(record('0001')).toMatchObject({ status: 'completed' });
  });

  it('is made again with all others from the whole journal, and by a new owner only if it is the last', () => {
    const journal = events(
      'conductor',
      ...first,
      exits('1.1', 1),
      { type: 'timer.fired', key: 'wait:1.1' },
      iteration(2),
      planned('2.1'),
      exits('2.1', 0),
    );
    project(journal);
    expect(readdirSync(folder.workspaceFolder.runs)).toEqual(['0002']);
    project(journal, [], true);
    expect(readdirSync(folder.workspaceFolder.runs)).toEqual(['0001', '0002']);
  });

  it('is not written through a link in the place of the folder of the runs, which is moved aside', () => {
    const elsewhere = join(dirname(folder.workspace), 'elsewhere');
    mkdirSync(elsewhere);
    mkdirSync(folder.workspaceFolder.path, { recursive: true });
    symlinkSync(elsewhere, folder.workspaceFolder.runs);
    project([], events('conductor', ...first));
    expect(readdirSync(elsewhere)).toEqual([]);
    expect(record('0001')).toMatchObject({ status: 'running' });
  });

  it('does not exist in a preset without a task folder', () => {
    project([], events('default', ...first, exits('1.1', 0)));
    expect(existsSync(folder.workspaceFolder.path)).toBe(false);
    expect(outputs).toEqual([]);
  });
});
