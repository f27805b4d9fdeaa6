/** Children of document 000 that an agent starts and registers in `$RUNS_DIR`: processes, not loops. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ownPosts } from '../rig/own-posts.ts';
import { openStage, waitFor, type Stage } from './stage.ts';

const SLOW = { timeout: 60_000 };
const conductor = ['--preset', 'conductor', '--restart-delay', '0', '--kill-grace', '1s'];
const createsDone = ': > "$TASK_FOLDER/DONE"';
const FIXTURE = new URL('../fixtures/registers-child.mjs', import.meta.url).pathname;

/** Starts a child that waits for `release(name)`, and says when it has started and ended. */
const registers = (name: string): string =>
  `"${process.execPath}" "${FIXTURE}" ${name} ': > "$FAKE_PLAN/${name}-started"; ${waitFor(name)}; : > "$FAKE_PLAN/${name}-ended"'`;
const childEvents = (stage: Stage): readonly unknown[] =>
  stage.journal
    .filter(({ type }) => type.startsWith('child.'))
    .map(({ type, child }) => `${type} ${String(child)}`);

describe('a child process that the agent has registered', () => {
  it(
    'S1.23 S1.36 S1.54 outlives the run that started it and is waited for after DONE (T022 T023)',
    SLOW,
    async () => {
      const stage = openStage();
      stage.plans(1, `${registers('kid')}; (trap "" TERM HUP; ${waitFor('never')}) & ${createsDone}`);
      const ralph = stage.starts('-p', 'work', ...conductor);
      await ralph.until('waiting for 1 child to complete: kid');
      await stage.waitForFile(join(stage.plan, 'kid-started'));
      expect(stage.journal.find(({ type }) => type === 'run.ended')).toMatchObject({ as: 'ok' });
      stage.release('kid');
      expect((await ralph.ended).code).toBe(0);
      expect(stage.hasPlanFile('kid-ended')).toBe(true);
      expect(childEvents(stage)).toEqual(['child.started kid', 'child.ended kid']);
      expect(ownPosts(stage.path('.ralph/loops/it')).slice(-2)).toEqual([
        'INFO waiting for 1 children to complete: [kid]',
        'INFO task completed (all children finished)',
      ]);
    },
  );

  it('S1.36 S1.39 outlives a run that timed out, and the runs after it', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, `${registers('kid')}; : > "$FAKE_CALL/ready"; ${waitFor('never')}`);
    stage.plans(2, createsDone);
    const ralph = stage.starts('-p', 'work', ...conductor, '--inactivity-timeout', '1s');
    await ralph.until('waiting for 1 child to complete: kid');
    stage.release('kid');
    expect((await ralph.ended).code).toBe(0);
    expect([stage.calls, stage.hasPlanFile('kid-ended')]).toEqual([2, true]);
  });

  it('S1.3 S1.23 S1.52 is waited for as long as --child-wait says, every --poll-interval', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, `${registers('kid')}; ${createsDone}`);
    const options = ['--child-wait', '1s', '--poll-interval', '20ms'];
    const { code } = await stage.run('-p', 'work', ...conductor, ...options);
    expect(code).toBe(0);
    expect(stage.journal[0]).toMatchObject({ policy: { children: { waitMs: 1000, pollMs: 20 } } });
    expect(ownPosts(stage.path('.ralph/loops/it')).at(-1)).toBe(
      'WARNING timeout waiting for children after 1s: [kid]',
    );
    stage.release('kid');
    await stage.until('the end of the child', () => stage.running.length === 0);
  });

  it.each<[string, (stage: Stage, ralph: ReturnType<Stage['starts']>) => Promise<unknown>]>([
    ['ralph stop --now', (stage) => stage.ralph('stop', 'it', '--now').ended],
    ['ralph kill', (stage) => stage.ralph('kill', 'it').ended],
    ['a signal', async (_, ralph) => ralph.signal('SIGINT')],
  ])('S1.52 is ended by %s while the loop waits for it', SLOW, async (_, stop) => {
    const stage = openStage();
    stage.plans(1, `${registers('kid')}; ${createsDone}`);
    const ralph = stage.starts('-p', 'work', ...conductor);
    await ralph.until('waiting for 1 child to complete: kid');
    await stop(stage, ralph);
    expect((await ralph.ended).code).toBe(130);
    expect([stage.hasPlanFile('kid-ended'), stage.running]).toEqual([false, []]);
  });

  it('S1.52 is ended with a later run that is stopped at once', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, registers('kid'));
    stage.plans(2, `${registers('second')}; : > "$FAKE_CALL/ready"; ${waitFor()}`);
    const ralph = stage.starts('-p', 'work', ...conductor);
    await stage.waitForCall(2, 'ready');
    expect((await stage.ralph('stop', 'it', '--now').ended).code).toBe(0);
    await ralph.ended;
    expect([stage.calls, stage.running]).toEqual([2, []]);
  });

  it('S1.52 keeps running after a graceful stop of its loop', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, `${registers('kid')}; : > "$FAKE_CALL/ready"; ${waitFor()}`);
    const ralph = stage.starts('-p', 'work', ...conductor);
    await stage.waitForCall(1, 'ready');
    const stopping = stage.ralph('stop', 'it');
    await stage.waitForEvents('control.received');
    stage.release();
    await Promise.all([stopping.ended, ralph.ended]);
    expect(stage.running.length).toBeGreaterThan(0);
    stage.release('kid');
    await stage.until('the end of the child', () => stage.running.length === 0);
    expect(stage.hasPlanFile('kid-ended')).toBe(true);
  });
});
