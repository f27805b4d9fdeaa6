import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { CONSOLE_LOG, logStepsTo, type RalphLog } from './log.ts';
import {
  allStates,
  clearState,
  incrementIteration,
  isSessionId,
  readState,
  sessionsFolder,
  writeState,
  type RalphLoopState,
} from './session-file.ts';

let folder: string;
let lines: string[];
const log: RalphLog = {
  info: (line) => void lines.push(`info ${line}`),
  warn: (line) => void lines.push(`warn ${line}`),
  error: (line) => void lines.push(`error ${line}`),
};
const STATE: RalphLoopState = {
  active: true,
  iteration: 1,
  maxIterations: 100,
  completionPromise: 'DONE',
  startedAt: '2026-01-02T03:04:05.678Z',
  prompt: 'Fix the tests\nand "quotes" $&',
  sessionId: 'ses_1',
};
const file = (session = 'ses_1'): string => join(folder, session, 'ralph-loop-state.json');
const plant = (text: string, session = 'ses_1'): void => {
  mkdirSync(join(folder, session), { recursive: true });
  writeFileSync(file(session), text);
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-sessions-'));
  lines = [];
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

describe('the state of a session', () => {
  it('S5.2 S5.47 is written and read with all its fields', () => {
    const whole = {
      ...STATE,
      lastIterationAt: '2026-01-02T03:05:05.678Z',
      description: 'tests',
      loop: 'a-1',
    };
    expect(writeState('ses_1', whole, folder, log)).toBe(true);
    expect(readState('ses_1', folder, log)).toEqual(whole);
    expect(lines).toEqual([]);
  });

  it('S5.8 is in a folder of its session, below `stateDir` or else in the folder for states', () => {
    vi.stubEnv('RALPH_STATE', join(folder, 'state'));
    expect(sessionsFolder()).toBe(join(folder, 'state', 'sessions'));
    writeState('ses_1', STATE, undefined, log);
    expect(existsSync(join(folder, 'state/sessions/ses_1/ralph-loop-state.json'))).toBe(true);
    writeState('ses_1', STATE, join(folder, 'other'), log);
    expect(existsSync(join(folder, 'other/ses_1/ralph-loop-state.json'))).toBe(true);
  });

  it('S5.9 is null if there is none', () => {
    expect(readState('ses_1', folder, log)).toBeNull();
    expect(readState('ses_1', join(folder, 'none'), log)).toBeNull();
    expect(lines).toEqual([]);
  });

  it.each([
    ['', 'Unexpected end of JSON input'],
    ['{"active": tr', 'JSON'],
    ['null', 'the value must be an object, got null'],
    [JSON.stringify({ ...STATE, iteration: '2' }), 'iteration must be a whole number >= 1, got "2"'],
    [JSON.stringify({ ...STATE, active: undefined }), 'active is required and must be true or false'],
    [JSON.stringify({ ...STATE, startedAt: 'soon' }), 'startedAt must be an ISO 8601 time, got "soon"'],
    [JSON.stringify({ ...STATE, sessionId: 'ses_2' }), 'sessionId must be "ses_1", got "ses_2"'],
  ])('S5.9 is null with a warning if the file is invalid: %s', (text, problem) => {
    plant(text);
    expect(readState('ses_1', folder, log)).toBeNull();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^warn \[ralph-loop\] Failed to read state: /);
    expect(lines[0]).toContain(problem);
  });

  it('S5.9 is null with a warning if the file is a link, a folder or in a folder behind a link', () => {
    plant(JSON.stringify(STATE), 'real');
    mkdirSync(join(folder, 'ses_1'));
    symlinkSync(file('real'), file());
    mkdirSync(file('ses_2'), { recursive: true });
    symlinkSync(join(folder, 'real'), join(folder, 'ses_3'));
    for (const session of ['ses_1', 'ses_2', 'ses_3']) expect(readState(session, folder, log)).toBeNull();
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(line).toMatch(/^warn \[ralph-loop\] Failed to read state: /);
  });

  it('without a log, tells the front that takes the steps', () => {
    logStepsTo(log);
    onTestFinished(() => logStepsTo(CONSOLE_LOG));
    plant('{');
    expect(readState('ses_1', folder)).toBeNull();
    expect(lines).toEqual([expect.stringMatching(/^warn \[ralph-loop\] Failed to read state: /)]);
  });

  it('S5.10 is JSON with 2-space indent in a private file, and its folders are made', () => {
    expect(writeState('ses_1', STATE, join(folder, 'a/b'), log)).toBe(true);
    const path = join(folder, 'a/b/ses_1/ralph-loop-state.json');
    expect(readFileSync(path, 'utf8')).toBe(`${JSON.stringify(STATE, null, 2)}\n`);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect(lstatSync(join(folder, 'a/b/ses_1')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'a/b/ses_1'))).toEqual(['ralph-loop-state.json']);
  });

  it('S5.10 returns false with an error in the log if it cannot be written', () => {
    writeFileSync(join(folder, 'taken'), '');
    expect(writeState('ses_1', STATE, join(folder, 'taken'), log)).toBe(false);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^error \[ralph-loop\] Failed to write state: /);
  });

  it('S5.11 is removed with the folder of its session', () => {
    writeState('ses_1', STATE, folder, log);
    expect(clearState('ses_1', folder, log)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
    expect(clearState('ses_1', folder, log)).toBe(true);
    plant('{ broken');
    writeFileSync(join(folder, 'ses_1', 'other'), '');
    expect(clearState('ses_1', folder, log)).toBe(true);
    expect(readdirSync(folder)).toEqual([]);
    expect(lines).toEqual([]);
  });

  it('S5.11 returns false with an error in the log if it stays', () => {
    writeFileSync(join(folder, 'no-folder'), '');
    expect(clearState('ses_1', join(folder, 'no-folder'), log)).toBe(false);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^error \[ralph-loop\] Failed to clear state: /);
  });

  it('S5.12 counts an iteration and its time', () => {
    writeState('ses_1', STATE, folder, log);
    const before = new Date().toISOString();
    const next = incrementIteration('ses_1', folder, log);
    expect(next).toEqual({ ...STATE, iteration: 2, lastIterationAt: next?.lastIterationAt });
    expect((next?.lastIterationAt ?? '') >= before).toBe(true);
    expect(readState('ses_1', folder, log)).toEqual(next);
  });

  it('S5.12 counts nothing without a state, or if it cannot be written', () => {
    expect(incrementIteration('ses_1', folder, log)).toBeNull();
    // Not valid any more after one step.
    writeState('ses_1', { ...STATE, iteration: Number.MAX_SAFE_INTEGER }, folder, log);
    expect(incrementIteration('ses_1', folder, log)).toBeNull();
    expect(lines).toEqual([
      expect.stringContaining('error [ralph-loop] Failed to write state: iteration must'),
    ]);
  });
});

describe('the sessions of a folder', () => {
  it.each([7, null, undefined, ['a']])('are called by a text, and not by %j', (id) => {
    expect(isSessionId(id)).toBe(false);
  });

  it('S5.55 have a state each', () => {
    writeState('ses_1', STATE, folder, log);
    writeState('ses_2', { ...STATE, sessionId: 'ses_2', startedAt: '2026-02-02T03:04:05.678Z' }, folder, log);
    plant('{', 'broken');
    mkdirSync(join(folder, '..hidden'));
    expect(allStates(folder, log).map(({ sessionId }) => sessionId)).toEqual(['ses_2', 'ses_1']);
    expect(allStates(join(folder, 'none'), log)).toEqual([]);
  });

  it.each(['a', 'ses_1', '0c4f-77', '-', 'A.b', 'x'.repeat(128)])('may be called %s', (id) => {
    expect(isSessionId(id)).toBe(true);
  });

  it.each(['', '.', '..', '.a', 'a/b', '../a', 'a\n', 'a b', 'ä', 'x'.repeat(129)])(
    'may not be called %j, which is refused before it becomes a path',
    (id) => {
      expect(isSessionId(id)).toBe(false);
      expect(writeState(id, { ...STATE, sessionId: id }, folder, log)).toBe(false);
      expect(readState(id, folder, log)).toBeNull();
      expect(clearState(id, folder, log)).toBe(false);
      expect(lines).toHaveLength(3);
      for (const line of lines) expect(line).toContain('a session id must be 1 to 128 letters');
      expect(readdirSync(folder)).toEqual([]);
    },
  );
});
