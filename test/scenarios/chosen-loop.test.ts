/** Commands without the name of a loop: which loop they are about, and when they refuse to choose. */
import { expect, it } from 'vitest';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

const ends = (stage: Stage, name: string) =>
  stage.ralph('run', 'work', '--name', name, '-m', '1', '--', stage.agent).ended;
const starts = (stage: Stage, name: string) =>
  stage.ralph('run', 'work', '--name', name, '--detach', '-m', '3', '--', stage.agent).ended;

it('says that there is no loop in an empty workspace', async () => {
  const stage = openLoadedStage();
  for (const words of [['status'], ['logs'], ['stop'], ['wait'], ['tell', 'use the other API'], ['diff']]) {
    // oxlint-disable-next-line no-await-in-loop -- one stage
    const { code, stderr } = await stage.ralph(...words).ended;
    expect([code, stderr]).toEqual([
      2,
      'ralph: error: no loops in this workspace; start one with: ralph run (or try: ralph demo)\n',
    ]);
  }
});

it('takes the only loop or the last one, and says on stderr which one it is', async () => {
  const stage = openLoadedStage();
  stage.plans('default', 'echo first words');
  await ends(stage, 'first');
  const only = await stage.ralph('logs').ended;
  expect(only.stderr).toContain('ralph: loop first, the only one in this workspace\n');
  expect(only.stdout).toContain('first words');
  stage.plans('default', 'echo later words');
  await ends(stage, 'later');
  const state = await stage.ralph('status').ended;
  expect(state.stderr).toBe('ralph: loop later, the last one of 2 in this workspace\n');
  expect(state.stdout).toMatch(/^Ralph Loop: later\n/);
  const last = await stage.ralph('story', '--json').ended;
  expect(last.stderr).toBe('ralph: loop later, the last one of 2 in this workspace\n');
  expect(JSON.parse(last.stdout.split('\n')[0] ?? '')).toHaveProperty('type');
});

it('takes a running loop to stop, and one that rests to resume', async () => {
  const stage = openLoadedStage();
  stage.plans('default', `echo >"$FAKE_CALL/ready"\n${waitFor()}`);
  await starts(stage, 'running');
  await stage.waitForCall(1, 'ready');
  stage.plans('default', 'echo not yet');
  await ends(stage, 'rests');
  const resumed = await stage.ralph('resume', '-m', '2').ended;
  expect(resumed.stderr).toContain('ralph: loop rests, the last one of 2 in this workspace\n');
  const paused = await stage.ralph('pause').ended;
  expect(paused.stderr).toBe('ralph: loop running, the last one of 2 in this workspace\n');
  const stopped = await stage.ralph('stop', '--now').ended;
  expect(stopped.stderr).toBe('ralph: loop running, the last one of 2 in this workspace\n');
  stage.release();
});

it('sends words without a name only to the one loop that they fit', async () => {
  const stage = openLoadedStage();
  stage.plans('default', waitFor());
  await starts(stage, 'one');
  const told = await stage.ralph('tell', 'use the other API').ended;
  expect(told.stderr).toBe('ralph: loop one, the only one in this workspace\n');
  expect(told.stdout).toContain('one');
  const set = await stage.ralph('set', 'max-iterations=5').ended;
  expect(set.stdout).toBe('set for one: max-iterations=5\n');
  const unasked = await stage.ralph('answer', 'yes').ended;
  expect([unasked.code, unasked.stderr]).toEqual([
    2,
    'ralph: error: no loop in this workspace has an open question; here are: one\n',
  ]);
  const mistyped = await stage.ralph('tell', 'oen', 'use the other API').ended;
  expect([mistyped.code, mistyped.stderr]).toEqual([
    2,
    'ralph: error: no loop named "oen" in this workspace (known here: one; ralph ls --all shows all)\n',
  ]);
  await starts(stage, 'two');
  const both = await stage.ralph('tell', 'use the other API').ended;
  expect([both.code, both.stderr]).toEqual([
    2,
    'ralph: error: which loop? 2 loops here could be meant (one, two): ralph tell NAME "…"\n',
  ]);
  await stage.ralph('stop', 'one', '--now').ended;
  await stage.ralph('stop', 'two', '--now').ended;
  stage.release();
});

it('never chooses a loop to kill, remove, rewind or merge', async () => {
  const stage = openLoadedStage();
  await ends(stage, 'only');
  for (const words of [['kill'], ['rm'], ['rewind'], ['worktree', 'merge'], ['worktree', 'rm']]) {
    // oxlint-disable-next-line no-await-in-loop -- one stage
    const { code, stderr } = await stage.ralph(...words).ended;
    expect([words, code]).toEqual([words, 2]);
    expect(stderr).not.toContain('only');
  }
});
