/** A loop inside a session, and the commands of people beside it. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';
import type { Ralph } from './ralph.ts';

/** Takes a step as a plugin does. */
function step(stage: Stage, input: object, env: Readonly<Record<string, string>> = {}): Ralph {
  return stage.shell('printf %s "$INPUT" | $RALPH hook step', { ...env, INPUT: JSON.stringify(input) });
}

async function answer(
  stage: Stage,
  input: object,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await step(stage, input, env).ended;
  expect(stderr).toBe('');
  expect(code).toBe(0);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- one line of JSON
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function start(
  stage: Stage,
  checks: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const asked = { prompt: 'Fix the tests', checks };
  const request = { type: 'start', session: 's1', program: 'claude', workspace: stage.workspace, asked };
  expect(await answer(stage, request, env)).toMatchObject({ type: 'started' });
}

function turn(text: string): object {
  return { type: 'turn', session: 's1', turn: { messages: [{ role: 'assistant', text }] } };
}

const NAME = 'fix-the-tests-1';
const PROMISE = '<promise>DONE</promise>';

describe('a loop inside a session', () => {
  it('is shown between two turns, is paused, resumed and told things, and can be waited for', async () => {
    const stage = openLoadedStage();
    await start(stage);
    const status = await stage.ralph('status', NAME).ended;
    expect(status.code).toBe(0);
    expect(status.stdout).toContain('Status: in-session\nIteration: 1/100\n');
    expect((await stage.ralph('ls').ended).stdout).toContain('in a session');
    const waiting = stage.ralph('wait', NAME);
    expect((await stage.ralph('pause', NAME).ended).stdout).toBe(
      `queued for ${NAME}: it takes effect when the turn of its session ends\n`,
    );
    expect(await answer(stage, turn(PROMISE.replace('DONE', 'later')))).toMatchObject({ type: 'waiting' });
    expect((await waiting.ended).stdout).toContain(`${NAME}: paused`);
    await stage.ralph('tell', NAME, 'use tabs').ended;
    expect((await stage.ralph('resume', NAME).ended).stdout).toBe(
      `queued for ${NAME}: it takes effect with the next turn of its session; type anything there\n`,
    );
    const next = await answer(stage, turn('I go on.'));
    expect(next).toMatchObject({ type: 'continue' });
    expect(next['prompt']).toContain('use tabs');
    expect(await answer(stage, turn(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
    const story = await stage.ralph('story', NAME).ended;
    expect(story.stdout).toContain('created: in a session of claude, preset promise, at most 100 iterations');
    expect(story.stdout).not.toMatch(/took the loop over|reattached/);
    const commands = [['resume'], ['tell', 'use spaces'], ['set', 'max-iterations=9'], ['pause']] as const;
    const refused = commands.map(([command, ...words]) => stage.ralph(command, NAME, ...words).ended);
    for (const { code, stderr } of await Promise.all(refused))
      expect([code, stderr]).toEqual([
        2,
        `ralph: error: loop ${NAME} ran in a session and has ended; start a new one there with: /ralph\n`,
      ]);
  });

  it('gives its checks the certificates that the front of the hooks hides from Node.js', async () => {
    const stage = openLoadedStage();
    const check = 'test "$NODE_EXTRA_CA_CERTS-${RALPH_EXTRA_CA_CERTS-none}" = "/a b.pem-none"';
    await start(stage, [check], { RALPH_EXTRA_CA_CERTS: '/a b.pem' });
    expect(await answer(stage, turn(PROMISE))).toMatchObject({ type: 'ended', outcome: 'done' });
  });

  it('is stopped from outside, and its session is let go', async () => {
    const stage = openLoadedStage();
    await start(stage);
    const refused = await stage.ralph('resume', NAME).ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('runs in a session and continues there');
    const stopped = await stage.ralph('stop', NAME).ended;
    expect(stopped.code).toBe(0);
    expect(stopped.stderr).not.toMatch(/Agent command|reattached/);
    expect(await answer(stage, turn('one'))).toMatchObject({ type: 'ended', outcome: 'stopped' });
    expect(await answer(stage, turn('two'))).toEqual({ type: 'none' });
  });

  it('is stopped from outside while a check runs, which ends at once', async () => {
    const stage = openLoadedStage();
    await start(stage, [`touch "$FAKE_PLAN/checking"; ${waitFor()}`]);
    const step1 = step(stage, turn(PROMISE));
    await stage.waitForFile(join(stage.plan, 'checking'));
    const stopped = await stage.ralph('stop', NAME).ended;
    expect([stopped.code, stopped.stdout]).toEqual([0, `stopping ${NAME} now\n`]);
    expect(JSON.parse((await step1.ended).stdout)).toMatchObject({ type: 'ended', outcome: 'stopped' });
  });

  it('says the limit that `ralph set` has changed', async () => {
    const stage = openLoadedStage();
    await start(stage);
    await stage.ralph('set', NAME, 'max-iterations=3').ended;
    const next = await answer(stage, turn('one'));
    expect(next).toMatchObject({ message: 'Ralph loop: iteration 2 of 3', state: { maxIterations: 3 } });
    expect(next['prompt']).toContain('[RALPH LOOP - ITERATION 2/3]');
    await stage.ralph('set', NAME, 'max-iterations=2').ended;
    expect(await answer(stage, turn('two'))).toMatchObject({
      outcome: 'iterations-exhausted',
      state: { maxIterations: 2 },
    });
  });

  it('says that it was removed, and that its record is damaged', async () => {
    const stage = openLoadedStage();
    await start(stage);
    await stage.ralph('rm', NAME).ended;
    const removed = await answer(stage, turn('one'));
    expect(removed).toMatchObject({ type: 'ended', outcome: 'stopped' });
    expect(removed['message']).toMatch(
      /^Ralph loop fix-the-tests-1\S* was removed; this session has no loop/,
    );
    expect(await answer(stage, turn('two'))).toEqual({ type: 'none' });
    await start(stage);
    const [loop] = readdirSync(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph/loops'));
    const spec = join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph/loops', loop ?? '', 'spec.json');
    writeFileSync(spec, 'damaged');
    for (const input of [turn('one'), turn('two')]) {
      // oxlint-disable-next-line no-await-in-loop -- one turn after the other
      const { stdout } = await step(stage, input).ended;
      expect(JSON.parse(stdout)).toMatchObject({ type: 'error' });
      expect(stdout).toContain('is missing or damaged; cancel-ralph ends the loop');
    }
    expect(await answer(stage, { type: 'cancel', session: 's1' })).toMatchObject({ type: 'cancelled' });
  });

  it('keeps its checkpoints in git and runs the checks again after a step that was killed', async () => {
    const stage = openLoadedStage();
    await start(stage, [`touch "$FAKE_PLAN/checking"; ${waitFor()}`]);
    const killed = step(stage, turn(PROMISE));
    await stage.waitForFile(join(stage.plan, 'checking'));
    stage.killAll();
    await killed.ended;
    expect(stage.running).toEqual([]);
    stage.release();
    stage.write('work.txt', 'done by the agent');
    // The promise of the killed step was on disk; the turn after it continues from there.
    expect(await answer(stage, turn('more'))).toMatchObject({ type: 'ended', outcome: 'done' });
    expect(stage.git('for-each-ref', 'refs/ralph')).toMatch(/refs\/ralph\/fix-the-tests-1-\w+\/1\n/);
    expect(stage.journalOf(NAME).filter(({ type }) => type === 'run.ended')).toHaveLength(1);
    expect(existsSync(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph/sessions/s1'))).toBe(false);
  });

  it('is not started from inside a run of another loop', async () => {
    const stage = openLoadedStage();
    const asked = { prompt: 'x', checks: [] };
    const request = { type: 'start', session: 's1', program: 'claude', workspace: stage.workspace, asked };
    stage.plans(
      'default',
      `printf %s '${JSON.stringify(request)}' | $RALPH hook step >"$FAKE_CALL/answer" 2>&1`,
    );
    await stage.shell(`$RALPH run x -m 1 --name it --env "RALPH=$RALPH" -- ${stage.agent}`).ended;
    expect(stage.given(1, 'answer')).toContain('it cannot have a loop of its own');
  });
});
