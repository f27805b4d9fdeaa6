/** Child loops: loops that an agent starts from inside its run. */
import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RiggedDaemon } from '../rig/cli/daemon.ts';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

/** Several loops at the same time, or one after the other. */
const SLOW = { timeout: 120_000 };

/** A shell line that starts a child in the background with the agent of its parent. */
const spawn = (name: string, more = ''): string =>
  `$RALPH spawn --name ${name} --no-tmux --max-iterations 1 ${more} task -- "$AGENT"`;

/** Starts a loop named `it` whose agent finds the command in `$RALPH` and itself in `$AGENT`. */
function starts(stage: Stage, args: string, agent: string = stage.agent): ReturnType<Stage['shell']> {
  return stage.shell(`exec $RALPH run --name it -p x ${args} -- '${agent}'`, { AGENT: agent });
}

/** Writes an agent that is another program than the one that follows the plan, whose calls are counted one by one. */
function agentThat(stage: Stage, script: string): string {
  const path = join(stage.plan, 'agent');
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** A loop that is done and waits for its child, which runs until the test releases it. */
async function waitsForKid(): Promise<{ stage: Stage; parent: ReturnType<Stage['shell']> }> {
  const stage = openLoadedStage();
  stage.plans(1, `${spawn('kid')} && touch "$TASK_FOLDER/DONE"`);
  stage.plans(2, waitFor());
  const parent = starts(stage, '--preset conductor -m 2');
  await parent.until('waiting for 1 child loop to complete: kid');
  await stage.waitForCall(2);
  return { stage, parent };
}

const ended = (stage: Stage, name: string): unknown => stage.journalOf(name).at(-1)?.['outcome'];

describe('a child loop', () => {
  it(
    'S1.23 S1.51 outlives the run that started it, and its parent waits for it after DONE, also if it was killed',
    SLOW,
    async () => {
      const { stage, parent } = await waitsForKid();
      const { stdout } = await stage.ralph('status', 'it').ended;
      expect(stdout).toContain('Child: kid: running, iteration 1/1\n');
      expect(stdout).toContain('Waiting: 1 child loop (kid)\n');
      expect((await stage.ralph('ls', '--tree').ended).stdout).toMatch(
        /^it +waiting: 1 child loop .* waiting: 1 child loop \(kid\)\n {2}kid +running/m,
      );
      parent.signal('SIGKILL');
      await parent.ended;
      const resumed = stage.ralph('resume', 'it');
      await resumed.until('continuing at iteration 1/2, waiting for 1 child loop to complete: kid');
      stage.release();
      const { code, stderr } = await resumed.ended;
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stderr).toContain('children    kid (iterations-exhausted)');
      const [started, end, more] = stage.journal.filter(({ type }) => type.startsWith('child.'));
      expect(started).toMatchObject({ type: 'child.started', run: '1.1' });
      expect(end).toMatchObject({ type: 'child.ended', outcome: { type: 'iterations-exhausted', limit: 1 } });
      expect(more).toBeUndefined();
      expect(stage.calls).toBe(2);
      const bus = (await stage.ralph('bus', 'read', 'it').ended).stdout;
      expect(bus).toContain(`(INFO) waiting for 1 children to complete: [${String(started?.['child'])}]\n`);
      expect(bus).toMatch(/\(INFO\) task completed \(all children finished\)\n$/);
      const story = (await stage.ralph('story', 'it').ended).stdout;
      expect(story).toContain('child loop ended: kid (iterations-exhausted)');
      const listed: unknown = JSON.parse((await stage.ralph('ls', '--tree', '--json').ended).stdout);
      const parentId = basename(stage.files('it').state);
      expect(listed).toMatchObject([
        { id: parentId, name: 'it', parent: null },
        { id: started?.['child'], name: 'kid', parent: parentId },
      ]);
    },
  );

  it(
    'S1.52 keeps running if its parent is stopped while it waits, which is no success of the parent',
    SLOW,
    async () => {
      const { stage, parent } = await waitsForKid();
      await stage.ralph('stop', 'it').ended;
      expect((await parent.ended).code).toBe(130);
      expect(stage.has(2, 'end')).toBe(false);
      expect((await stage.ralph('bus', 'read', 'it').ended).stdout).toMatch(
        /\(ERROR\) failed waiting for children: cancelled by a person\n$/,
      );
      expect((await stage.ralph('status', 'kid').ended).code).toBe(0);
      stage.release();
      await stage.ralph('wait', 'kid').ended;
      expect(stage.has(2, 'end')).toBe(true);
      // An ended loop records nothing more, and its status still knows.
      expect((await stage.ralph('status', 'it').ended).stdout).toContain('Child: kid: iterations-exhausted');
    },
  );

  it('S1.36 survives the timeout of the run and `stop --now` of its parent', SLOW, async () => {
    const stage = openLoadedStage();
    // The agent is silent only once its child runs.
    stage.plans(1, `${spawn('kid')} & while kill -0 $! 2>/dev/null; do echo x; sleep 0.1; done; sleep 1000`);
    stage.plans(2, waitFor());
    stage.plans(3, 'while echo x; do sleep 0.1; done');
    const parent = starts(stage, '-m 2 --inactivity-timeout 2s --max-unchanged 0');
    await stage.waitForCall(3);
    expect(stage.has(2, 'end')).toBe(false);
    await stage.ralph('stop', 'it', '--now').ended;
    await parent.ended;
    const { stdout } = await stage.ralph('status', 'kid').ended;
    expect(stdout).toContain('Status: running');
    stage.release();
    await stage.ralph('wait', 'kid').ended;
    expect(stage.has(2, 'end')).toBe(true);
    expect(ended(stage, 'kid')).toEqual({ type: 'iterations-exhausted', limit: 1 });
  });

  it(
    'S1.57 is active although the daemon has died, and is taken up again while its parent waits',
    SLOW,
    async () => {
      const { stage, parent } = await waitsForKid();
      const daemon = new RiggedDaemon(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph'));
      const died = await daemon.runs();
      await daemon.crashes();
      await daemon.runs(died);
      stage.release();
      const { code, stderr } = await parent.ended;
      expect({ code, stderr }).toMatchObject({ code: 0 });
      expect(stage.journal.filter(({ type }) => type === 'child.ended')).toMatchObject([
        { outcome: { type: 'iterations-exhausted' } },
      ]);
      expect(stage.calls).toBe(2);
    },
  );

  it('is unrelated with --no-child: it has no parent, and the run does not end it', SLOW, async () => {
    const stage = openLoadedStage();
    stage.plans(1, spawn('other', '--no-child'));
    stage.plans(2, waitFor());
    const { code } = await starts(stage, '-m 1').ended;
    expect(code).toBe(1);
    await stage.waitForCall(2);
    expect(stage.journal.filter(({ type }) => type.startsWith('child.'))).toEqual([]);
    const { stdout } = await stage.ralph('ls', '--json').ended;
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'it' },
      { name: 'other', parent: null, status: 'running' },
    ]);
    stage.release();
    await stage.ralph('wait', 'other').ended;
  });
});

describe('limits on child loops', () => {
  it(
    'end an agent that forks without end, and `stop --tree` ends everything that it has started',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.settings({ children: { maxDepth: 2, maxActive: 2 } });
      const bomb = agentThat(
        stage,
        `n=0
while n=$((n + 1)); $RALPH spawn --name "kid-$$-$n" --no-tmux --max-iterations 1 x -- "$0" >"$RUN_FOLDER/said" 2>&1; do :; done
cp "$RUN_FOLDER/said" "$FAKE_PLAN/refused-$$.part"
mv "$FAKE_PLAN/refused-$$.part" "$FAKE_PLAN/refused-$$"
sleep 1000`,
      );
      const parent = starts(stage, '-m 1', bomb);
      const refusals = (): readonly string[] => stage.planFiles(/^refused-\d+$/);
      await stage.until('7 refusals', () => refusals().length >= 7);
      const texts = refusals().map((text) => text.replaceAll(/kid-\d+-\d+/g, 'KID'));
      expect(
        texts.filter((text) =>
          text.includes('already has 2 active children (KID, KID): wait for one with: ralph wait NAME'),
        ),
      ).toHaveLength(3);
      expect(texts.filter((text) => text.includes('is 2 generations below the first loop'))).toHaveLength(4);
      const { stdout, code } = await stage.ralph('stop', '--tree', '--now', 'it').ended;
      expect(stdout).toContain('stopping it now');
      expect(code).toBe(0);
      expect((await parent.ended).code).toBe(130);
      await stage.ralph('wait', '--all').ended;
      expect(stage.loops.map((name) => ended(stage, name))).toEqual(
        Array.from({ length: 7 }, () => ({ type: 'stopped', by: 'person' })),
      );
    },
  );

  it(
    'hold for starts at the same moment, and count from the state and not from the environment',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.settings({ children: { maxActive: 3 } });
      const agent = agentThat(
        stage,
        `case "$RALPH_LOOP" in
it)
  for n in 1 2 3 4 5 6; do
    { ${spawn('kid-$n').replace('"$AGENT"', '"$0"')} >/dev/null 2>&1; echo $? >"$FAKE_PLAN/code-$n"; } &
  done
  wait
  other=$(ls -d "$XDG_STATE_HOME"/ralph/loops/other-*)
  RALPH_RUN_ID="\${other##*/}.1.1" $RALPH run --name forged -d x -- true >"$FAKE_PLAN/forged" 2>&1
  $RALPH run -d x -- true >"$FAKE_PLAN/plain" 2>&1; echo $? >"$FAKE_PLAN/code-plain" ;;
*) ${waitFor()} ;;
esac`,
      );
      await stage.ralph('run', '--name', 'other', '-m', '1', 'x', '--', 'true').ended;
      const parent = starts(stage, '-m 1', agent);
      expect((await parent.ended).code).toBe(1);
      const codes = [1, 2, 3, 4, 5, 6].map((n) => Number(stage.planFiles(new RegExp(`^code-${n}$`))[0]));
      expect(codes.toSorted((a, b) => a - b)).toEqual([0, 0, 0, 1, 1, 1]);
      expect(stage.planFiles(/^code-plain$/)).toEqual(['2\n']);
      for (const file of [/^plain$/, /^forged$/])
        expect(stage.planFiles(file)[0]).toContain('this loop ("it") already has 3 active children (');
      stage.release();
      await stage.ralph('wait', '--all').ended;
      expect(stage.loops).toHaveLength(5);
    },
  );
});
