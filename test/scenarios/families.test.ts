/** One budget per family: what child loops spend counts towards the limits of the loops above them. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RiggedDaemon } from '../rig/cli/daemon.ts';
import { agentOf, endOf, isEnded, once, planned, run, spentBy, starts } from './family-stage.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

/** Several loops at the same time. */
const SLOW = { timeout: 120_000 };

const family = { name: 'it' };

describe('the cost limit of a loop', () => {
  it('ends its children too: beyond it there is at most one run per living child', SLOW, async () => {
    const stage = openLoadedStage();
    const start = ['a', 'b', 'c'].map((name) => starts(stage, name)).join('; ');
    agentOf(stage, {
      it: `${once(`${start}; : >"$FAKE_PLAN/go"`)}; ends 0.5`,
      '*': `${waitFor()}; ends 0.5`,
    });
    const { code, stderr } = await run(stage, '-m', '1000', '--max-cost', '3').ended;
    expect({ code, stderr }).toMatchObject({ code: 1 });
    await isEnded(stage, 'a', 'b', 'c');
    const all = ['it', 'a', 'b', 'c'].map((name) => spentBy(stage, name)).reduce((a, b) => a + b, 0);
    expect(all).toBeGreaterThanOrEqual(3);
    expect(all).toBeLessThanOrEqual(3 + 4 * 0.5);
    for (const name of ['a', 'b', 'c'])
      expect(endOf(stage, name)).toMatchObject({ type: 'cost-exhausted', limitUsd: 3, family });
    expect(endOf(stage, 'it')).toMatchObject({ type: 'cost-exhausted', limitUsd: 3 });
    expect(stderr).toContain('cost limit reached: $');
    const { stdout } = await stage.ralph('status', 'a', '--json').ended;
    expect(JSON.parse(stdout)).toMatchObject({ record: { exitCode: 1 } });
  });

  it('counts the runs of children that are stopped before they report what they use', SLOW, async () => {
    const stage = openLoadedStage();
    const line = (name: string): string =>
      `${starts(stage, name)}; until [ -e "$FAKE_PLAN/${name}-runs" ]; do sleep 0.05; done
      ${process.execPath} ${stage.main} stop ${name} --now >>"$FAKE_PLAN/said" 2>&1`;
    agentOf(stage, {
      it: `used 0.5; ${['a', 'b', 'c'].map(line).join('\n')}; ends 0.5`,
      '*': `: >"$FAKE_PLAN/$RALPH_LOOP-runs"; ${waitFor('never')}`,
    });
    const { code } = await run(stage, '-m', '1', '--max-cost', '1').ended;
    expect(code).toBe(1);
    expect(endOf(stage, 'it')).toMatchObject({ type: 'cost-exhausted', limitUsd: 1, spentUsd: 1 });
    expect(endOf(stage, 'b')).not.toMatchObject({ type: 'stopped' });
    expect(stage.hasPlanFile('c-runs')).toBe(false);
  });

  it('lets no child run once two runs have ended and no loop knows what a run uses', SLOW, async () => {
    const stage = openLoadedStage();
    const line = (name: string): string =>
      `${starts(stage, name)}; until [ -e "$FAKE_PLAN/${name}-runs" ]; do sleep 0.05; done
      ${process.execPath} ${stage.main} stop ${name} --now >>"$FAKE_PLAN/said" 2>&1`;
    agentOf(stage, {
      it: `${['a', 'b'].map(line).join('\n')}; ${starts(stage, 'c', '-m 1')}
      ${process.execPath} ${stage.main} wait c >>"$FAKE_PLAN/said" 2>&1
      ${process.execPath} ${stage.main} status c >>"$FAKE_PLAN/said" 2>&1; ends 0.5`,
      '*': `: >"$FAKE_PLAN/$RALPH_LOOP-runs"; [ -e "$FAKE_PLAN/go" ] && ends 0.5; ${waitFor('never')}`,
    });
    // Its own run is not ended by it, and charges the others as soon as it says what it used.
    const { code } = await run(stage, '-m', '1', '--max-cost', '4').ended;
    expect(code).toBe(1);
    expect(endOf(stage, 'it')).toMatchObject({ type: 'iterations-exhausted' });
    expect(endOf(stage, 'c')).toMatchObject({
      type: 'cost-exhausted',
      spentUsd: null,
      assumedRuns: 2,
      family,
    });
    expect(planned(stage, 'c')).toBe(0);
    expect(stage.planFiles(/^said$/).join('')).toContain(
      'cannot enforce the cost limit of the family of "it" of $4.0000: 2 runs did not report their cost, and the cost of no other run is known',
    );
    expect((await stage.ralph('status', 'it').ended).stdout).toContain('\nUsed: $1.50 of $4.00');
    // Now its usage is known, so the child can be resumed.
    expect((await stage.ralph('status', 'c').ended).stdout).toContain('\nNext: ralph resume c\n');
    stage.release();
    await stage.ralph('resume', 'c').ended;
    await stage.until(
      'the next end of c',
      () => stage.journalOf('c').filter(({ type }) => type === 'loop.ended').length === 2,
    );
    expect(planned(stage, 'c')).toBe(1);
    expect(endOf(stage, 'c')).toMatchObject({ type: 'iterations-exhausted' });
  });

  it('shows what children have spent, and its advice continues a child', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `used 0.5; ${once(starts(stage, 'kid'))}; ${waitFor('never')}`,
      kid: 'ends 0.25',
    });
    const parent = run(stage, '-m', '9', '--max-cost', '1');
    await isEnded(stage, 'kid');
    const { code } = await parent.ended;
    expect(code).toBe(1);
    expect([spentBy(stage, 'it'), spentBy(stage, 'kid')]).toEqual([0.5, 0.5]);
    const shown = (...args: readonly string[]): Promise<string> =>
      stage.ralph(...args).ended.then(({ stdout }) => stdout);
    expect(await shown('status', 'it')).toContain('\nCost: $1.0000 reported, of it $0.5000 by 1 child\n');
    expect(await shown('status', 'it')).toContain('\nUsed: $1.00 of $1.00\n');
    expect(await shown('status', 'kid')).toContain('\nBudget of "it": $1.00 of $1.00 used by its family\n');
    expect(await shown('ls', '--tree')).toMatch(/^it .*\$1\.00 of \$1\.00, of it \$0\.50 by 1 child /m);
    expect(await shown('story', 'it')).toContain('in all: cost $1.0000 reported, of it $0.5000 by 1 child;');
    expect(JSON.parse(await shown('status', 'it', '--json'))).toMatchObject({
      record: { costUsd: 0.5, spentByChildren: { loops: 1, usd: 0.5 } },
    });
    const [, advice = ''] = /^Next: (.*)$/m.exec(await shown('status', 'kid')) ?? [];
    expect(advice).toBe('ralph resume it --detach --max-cost 2 && ralph resume kid');
    const followed = stage.shell(advice.replaceAll('ralph ', '$RALPH ').replace(/$/, ' --detach'));
    expect((await followed.ended).code).toBe(0);
    await stage.until('another run of kid', () => planned(stage, 'kid') > 2);
    await stage.until('the end of both', () => {
      const ends = ['it', 'kid'].map((name) => stage.journalOf(name).at(-1)?.type);
      return ends.every((type) => type === 'loop.ended');
    });
    const all = spentBy(stage, 'it') + spentBy(stage, 'kid');
    expect(all).toBeGreaterThanOrEqual(2);
    expect(all).toBeLessThanOrEqual(2 + 0.5 + 0.25);
  });

  it('holds at once for a running child when it is lowered', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `${once(starts(stage, 'kid'))}; used 0.1; ${waitFor('never')}`,
      kid: `used 0.5; : >"$FAKE_PLAN/kid-runs"; ${waitFor('never')}`,
    });
    const parent = run(stage, '-m', '9', '--max-cost', '5');
    await stage.until('the run of kid', () => stage.hasPlanFile('kid-runs'));
    await stage.ralph('set', 'it', 'max-cost=0.4').ended;
    expect((await parent.ended).code).toBe(1);
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject({ type: 'cost-exhausted', limitUsd: 0.4, family });
    expect(planned(stage, 'kid')).toBe(1);
  });

  it('holds at once when it is raised, and a child cannot raise it', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `${once(starts(stage, 'kid', '--max-cost 1'))}; ${waitFor('never')}`,
      // Its third run waits until the limits were changed.
      kid: `n=$(($(cat "$FAKE_PLAN/n" 2>/dev/null)+1)); echo $n >"$FAKE_PLAN/n"
if [ $n = 3 ]; then used 0.1; : >"$FAKE_PLAN/third"; ${waitFor()}; fi; ends 0.3`,
    });
    const parent = run(stage, '-m', '9', '--max-cost', '1');
    await stage.until('the third run of kid', () => stage.hasPlanFile('third'));
    expect((await stage.ralph('set', 'kid', 'max-cost=100').ended).code).toBe(0);
    expect((await stage.ralph('set', 'it', 'max-cost=1.5').ended).code).toBe(0);
    stage.release();
    expect((await parent.ended).code).toBe(1);
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject({ type: 'cost-exhausted', limitUsd: 1.5, family });
    expect(spentBy(stage, 'kid')).toBeCloseTo(1.5);
    // Four readings of runs at most, and the changes: the journal does not grow with each look.
    const counts = stage.journalOf('kid').filter(({ type }) => type === 'family.counted');
    expect(counts.length).toBeLessThanOrEqual(2 * planned(stage, 'kid') + 4);
  });

  it('holds for running children also if it is changed while the loop is paused', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `${starts(stage, 'kid')}; ends 0.1`,
      kid: `used 0.5; : >"$FAKE_PLAN/kid-runs"; ${waitFor('never')}`,
    });
    const parent = run(stage, '-m', '9', '--max-cost', '5', '--restart-delay', '1m');
    await stage.until('the run of kid', () => stage.hasPlanFile('kid-runs'));
    await stage.ralph('pause', 'it').ended;
    await parent.ended;
    expect((await stage.ralph('set', 'it', 'max-cost=0.4').ended).stdout).toContain('queued for it');
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject({ type: 'cost-exhausted', limitUsd: 0.4, family });
    // Its next owner takes the change from the inbox.
    expect((await stage.ralph('resume', 'it').ended).code).toBe(1);
    expect(endOf(stage, 'it')).toMatchObject({ type: 'cost-exhausted', limitUsd: 0.4 });
  });

  it('is kept by owners that are killed: no run is charged twice, none is forgotten', SLOW, async () => {
    const stage = openStage();
    agentOf(stage, {
      it: `${once(starts(stage, 'kid'))}; ${waitFor('never')}`,
      kid: `n=$(($(cat "$FAKE_PLAN/n" 2>/dev/null)+1)); echo $n >"$FAKE_PLAN/n"
used 0.5; : >"$FAKE_PLAN/run-$n"; [ $n -le 3 ] && ${waitFor('go-$n')}; ends 0.5`,
    });
    const parent = run(stage, '-m', '9', '--max-cost', '2', '--detach');
    await parent.ended;
    const daemon = new RiggedDaemon(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph'));
    for (const n of [1, 2, 3]) {
      // oxlint-disable-next-line no-await-in-loop -- one run after the other
      await stage.until(`run ${n}`, () => stage.hasPlanFile(`run-${n}`));
      // oxlint-disable-next-line no-await-in-loop -- as above
      await daemon.crashes();
      stage.release(`go-${n}`);
      // oxlint-disable-next-line no-await-in-loop -- a command starts the next daemon, which owns both loops
      await stage.ralph('ls').ended;
    }
    await isEnded(stage, 'it', 'kid');
    expect(spentBy(stage, 'kid')).toBe(2);
    expect(planned(stage, 'kid')).toBe(4);
    expect(endOf(stage, 'kid')).toMatchObject({ limitUsd: 2, spentUsd: 2, family });
    const ledger = join(stage.files('it').state, 'family');
    const sums = readdirSync(ledger).map((name): unknown =>
      JSON.parse(readFileSync(join(ledger, name), 'utf8')),
    );
    expect(sums).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'kid', usd: 2 }),
        expect.objectContaining({ name: 'it', usd: 0 }),
      ]),
    );
  });

  it('still holds for the children of a loop that is done', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, {
      it: `${starts(stage, 'kid')}; echo '{"type":"result","ok":true,"text":"<promise>DONE</promise>","costUsd":0.5}'`,
      kid: `${waitFor()}; ends 0.5`,
    });
    expect((await run(stage, '-m', '9', '--max-cost', '2').ended).code).toBe(0);
    stage.release();
    await isEnded(stage, 'kid');
    expect(endOf(stage, 'kid')).toMatchObject({ type: 'cost-exhausted', limitUsd: 2, spentUsd: 2, family });
    expect((await stage.ralph('ls').ended).stdout).toMatch(
      /^it .*\$2\.00 of \$2\.00, of it \$1\.50 by 1 child /m,
    );
    // Nothing raises the limit of a loop that is done.
    expect((await stage.ralph('status', 'kid').ended).stdout).not.toContain('Next:');
  });

  it('refuses a child whose agent does not report what it uses', SLOW, async () => {
    const stage = openLoadedStage();
    agentOf(stage, { it: `${starts(stage, 'kid', '', 'custom')}; ends 0.5` });
    await run(stage, '-m', '1', '--max-cost', '2').ended;
    expect(stage.planFiles(/^said$/).join('')).toContain(
      'cannot enforce --max-cost of the loop "it", in whose budget this child would count: the agent custom does not report what it uses; choose an agent that reports it (see: ralph agents), or do the work yourself',
    );
    expect(stage.loops).toEqual(['it']);
  });
});

describe('the time limit of a loop', () => {
  it('is the deadline of its children, and no sum', SLOW, async () => {
    const stage = openLoadedStage();
    const start = ['a', 'b'].map((name) => starts(stage, name)).join('; ');
    agentOf(stage, { it: `${once(start)}; ${waitFor('never')}`, '*': waitFor('never') });
    const { code } = await run(stage, '-m', '9', '--max-time', '6s').ended;
    expect(code).toBe(1);
    await isEnded(stage, 'a', 'b');
    for (const name of ['a', 'b'])
      expect(endOf(stage, name)).toMatchObject({ type: 'time-exhausted', limitMs: 6000, family });
    const at = (name: string): number => stage.journalOf(name).at(-1)?.at ?? 0;
    expect(Math.max(at('a'), at('b')) - (stage.journal[0]?.at ?? 0)).toBeGreaterThanOrEqual(6000);
  });
});

describe('a loop that is started with --no-child', () => {
  const unrelated = (stage: Stage): void => {
    agentOf(stage, {
      it: `${once(starts(stage, 'other', '--no-child'))}; ${waitFor('never')}`,
      other: `ends 0.5`,
    });
  };

  it('counts in the budget of the loop whose run has started it', SLOW, async () => {
    const stage = openLoadedStage();
    unrelated(stage);
    expect((await run(stage, '-m', '9', '--max-cost', '1').ended).code).toBe(1);
    await isEnded(stage, 'other');
    expect(endOf(stage, 'other')).toMatchObject({ type: 'cost-exhausted', limitUsd: 1, family });
    expect(stage.journal.some(({ type }) => type === 'child.started')).toBe(false);
  });

  it('counts in none if the own settings of the user say so, and no repository can', SLOW, async () => {
    const stage = openLoadedStage();
    const path = join(stage.env['HOME'] ?? '', '.config/ralph/settings.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, JSON.stringify({ children: { unrelated: true } }));
    agentOf(stage, {
      it: `${once(starts(stage, 'other', '--no-child -m 4'))}; ${waitFor()}; ends 0.1`,
      other: 'ends 0.5',
    });
    const parent = run(stage, '-m', '1', '--max-cost', '1');
    await stage.until('other', () => stage.loops.includes('other'));
    await isEnded(stage, 'other');
    expect(endOf(stage, 'other')).toEqual({ type: 'iterations-exhausted', limit: 4 });
    stage.release();
    expect((await parent.ended).code).toBe(1);
    expect(endOf(stage, 'it')).toMatchObject({ type: 'iterations-exhausted' });
    stage.settings({ children: { unrelated: true } });
    expect((await stage.ralph('config').ended).stderr).toContain('children.unrelated');
  });
});
