/** What becomes of the budget of a family while its ledger is damaged and loops of it are removed. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentOf, endOf, isEnded, once, planned, run, spentBy, starts } from './family-stage.ts';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

const SLOW = { timeout: 120_000 };
const family = { name: 'it' };

/** Ends each run with the same cost, once the test lets it. */
const TURNS = `n=$(($(cat "$FAKE_PLAN/n" 2>/dev/null)+1)); echo $n >"$FAKE_PLAN/n"
: >"$FAKE_PLAN/run-$n"; ${waitFor('go-$n')}; ends 0.5`;

/** A loop with a limit of $2 that is done after $0.50, and its child, which works on its first run. */
async function doneWithChild(stage: Stage): Promise<void> {
  agentOf(stage, {
    it: `${starts(stage, 'kid')}; echo '{"type":"result","ok":true,"text":"<promise>DONE</promise>","costUsd":0.5}'`,
    kid: TURNS,
  });
  expect((await run(stage, '-m', '9', '--max-cost', '2').ended).code).toBe(0);
  await stage.until('the first run of kid', () => stage.hasPlanFile('run-1'));
}

function letsAllRun(stage: Stage): void {
  for (let n = 1; n <= 9; n++) stage.release(`go-${n}`);
}

const stateOf = (stage: Stage, name: string): string => stage.files(name).state;
const ledgerOf = (stage: Stage): string => join(stateOf(stage, 'it'), 'family');
const entryOf = (stage: Stage, name: string): string =>
  join(ledgerOf(stage), `${basename(stateOf(stage, name))}.json`);

/** Puts something else in the place of a file or folder, at once: an owner makes what is missing again. */
function instead(path: string, make: (path: string) => void): void {
  // On the same file system.
  const beside = join(dirname(dirname(path)), 'made');
  make(beside);
  for (let tries = 0; ; tries++) {
    renameSync(path, `${beside}-before-${tries}`);
    try {
      return renameSync(beside, path);
    } catch (error) {
      if (tries === 20) throw error;
    }
  }
}

const fifo = (path: string): unknown => execFileSync('mkfifo', [path]);

/** Takes the state of the first loop away and returns what puts it back. */
function takesAway(stage: Stage): () => void {
  const state = stateOf(stage, 'it');
  const away = join(stage.plan, 'away');
  renameSync(state, away);
  return () => renameSync(away, state);
}

const LIMIT: End = { type: 'cost-exhausted', limitUsd: 2, spentUsd: 2, family };
/** What the message of the end says. */
const lost = (why: string): End => ({ type: 'fatal', why });

interface End {
  readonly type: string;
  readonly why?: string;
  readonly [key: string]: unknown;
}

/** At once: its owners write into the folder meanwhile. */
function removed(folder: string): void {
  renameSync(folder, `${folder}.removed`);
  rmSync(`${folder}.removed`, { recursive: true });
}

describe('the budget of a loop that is done', () => {
  it.each<readonly [string, (stage: Stage) => void, (stage: Stage) => End, number]>([
    ['the ledger is removed', (stage) => removed(ledgerOf(stage)), () => LIMIT, 3],
    ['its entry is cut off', (stage) => truncateSync(entryOf(stage, 'it'), 20), () => LIMIT, 3],
    ['its entry becomes a FIFO', (stage) => instead(entryOf(stage, 'it'), fifo), () => LIMIT, 3],
    [
      'its entry becomes a folder',
      (stage) => instead(entryOf(stage, 'it'), (p) => mkdirSync(p)),
      () => LIMIT,
      3,
    ],
    ['its entry becomes huge', (stage) => truncateSync(entryOf(stage, 'it'), 2 ** 33), () => LIMIT, 3],
    ['the entry of the child becomes a link', linked, () => LIMIT, 3],
    [
      'the entry of the child becomes a FIFO',
      (stage) => instead(entryOf(stage, 'kid'), fifo),
      () => LIMIT,
      3,
    ],
    [
      'the entry of the child becomes a folder',
      (stage) => instead(entryOf(stage, 'kid'), (path) => mkdirSync(join(path, 'x'), { recursive: true })),
      (stage) => lost(entryOf(stage, 'kid')),
      1,
    ],
    [
      'the ledger becomes a file',
      (stage) => instead(ledgerOf(stage), (path) => writeFileSync(path, '')),
      (stage) => lost(ledgerOf(stage)),
      1,
    ],
    [
      'its state is taken away',
      (stage) => void takesAway(stage),
      () => lost('the first loop of this family was removed, so its budget cannot be counted'),
      1,
    ],
    ['its state is taken away and put back', (stage) => takesAway(stage)(), () => LIMIT, 3],
  ])('is not exceeded by its child if %s', SLOW, async (_, attack, end, runs) => {
    const stage = openLoadedStage();
    await doneWithChild(stage);
    attack(stage);
    letsAllRun(stage);
    const { why = '', ...expected } = end(stage);
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject(expected);
    expect(JSON.stringify(endOf(stage, 'kid'))).toContain(why);
    expect(planned(stage, 'kid')).toBe(runs);
    // The run that was open at the attack has ended as it was.
    expect(spentBy(stage, 'kid')).toBe(0.5 * runs);
    const ended = stage.journalOf('kid').filter(({ type }) => type === 'run.ended');
    expect(ended.every(({ as }) => as === 'ok')).toBe(true);
  });

  it('keeps ralph rm from removing it while its child runs', SLOW, async () => {
    const stage = openLoadedStage();
    await doneWithChild(stage);
    const refused = await stage.ralph('rm', 'it').ended;
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain(
      'cannot remove "it": loops that it has started use its budget (kid); wait for them or stop them first',
    );
    letsAllRun(stage);
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject(LIMIT);
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
  });
});

it(
  'a grandchild stays in the budget after the loop between was removed, and while the limit changes',
  SLOW,
  async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `${once(starts(stage, 'mid', '-m 1'))}; used 0.5; ${waitFor('never')}`,
      mid: `${starts(stage, 'low')}; ends 0.5`,
      low: TURNS,
    });
    const first = run(stage, '-m', '9', '--max-cost', '9');
    await stage.until('the first run of low', () => stage.hasPlanFile('run-1'));
    await isEnded(stage, 'mid');
    expect((await stage.ralph('rm', 'mid').ended).code).toBe(0);
    stage.release('go-1');
    await stage.until('the second run of low', () => stage.hasPlanFile('run-2'));
    for (const limit of ['100', '1.75', '20', '2'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await stage.ralph('set', 'it', `max-cost=${limit}`).ended;
    letsAllRun(stage);
    expect((await first.ended).code).toBe(1);
    await isEnded(stage, 'low');
    expect(endOf(stage, 'low')).toMatchObject({ type: 'cost-exhausted', limitUsd: 2, family });
    // $0.50 of it and of mid each, and of each run of low.
    expect(planned(stage, 'low')).toBe(2);
  },
);

/** Points the entry of the child to that of its parent. */
function linked(stage: Stage): void {
  instead(entryOf(stage, 'kid'), (path) => symlinkSync(entryOf(stage, 'it'), path));
}
