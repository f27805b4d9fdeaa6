import { rmSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decide } from '../../src/loop/decide.ts';
import { lives } from '../rig/cli/leftovers.ts';
import { exits, type Running } from '../rig/cli/program.ts';
import type { Turn } from '../rig/cli/turn.ts';
import { until } from '../rig/cli/until.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

/** A loop called `a` whose owner was killed while its agent works. */
async function orphan(...options: readonly string[]): Promise<Turn> {
  const program = rig.ralph(['run', 'task', '--name', 'a', ...options, '--', ...rig.agent]);
  const turn = await rig.nextTurn();
  await rig.loop('a').journals('run.started');
  await program.crashes();
  return turn;
}

async function endsDone(turn: Turn, program: Running): Promise<void> {
  await turn.prints('<promise>DONE</promise>\n');
  await turn.exits(0);
  const end = await program.ended;
  exits(end, 0);
}

describe('a loop whose owner is killed while the agent works', () => {
  it('S4.32 S4.36 keeps its agent, and resume reattaches to it', async () => {
    const turn = await orphan('--check', 'test -f ok');
    await turn.answers();
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.writes('ok');
    await endsDone(turn, resumed);
    expect(rig.turns).toBe(1);
    expect(rig.loop('a').all('iteration.started')).toHaveLength(1);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done', verified: true });
  });

  it('reports on resume that it reattached', async () => {
    const turn = await orphan();
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await endsDone(turn, resumed);
    expect(resumed.said).toContain('reattached to the agent of iteration 1/10');
  });

  it('reports no stray process after resume', async () => {
    const turn = await orphan();
    const resumed = rig.ralph(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await endsDone(turn, resumed);
    expect(resumed.said).not.toContain('left behind');
    expect(rig.loop('a').all('run.ended')[0]).not.toHaveProperty('strays');
  });

  it('shows on resume what the agent printed in the meantime, and repeats nothing', async () => {
    const line = (event: object): string => `${JSON.stringify(event)}\n`;
    const first = rig.ralph(['run', 'task', '--name', 'a', '--agent', 'scripted', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await turn.prints(line({ type: 'text', text: 'early words\n' }));
    await turn.prints(line({ type: 'progress', tokens: { input: 1 } }));
    await rig.loop('a').journals('run.output', ({ tokens }) => tokens?.input === 1);
    await first.says('early words');
    await first.crashes();
    await turn.prints(line({ type: 'text', text: 'words without a reader\n' }));

    const second = rig.runs(['resume', 'a']);
    await second.says('words without a reader');
    await turn.prints(line({ type: 'text', text: 'late words\n' }));
    await turn.prints(line({ type: 'result', ok: true, text: '<promise>DONE</promise>' }));
    await turn.exits(0);
    const end = await second.ended;
    exits(end, 0);
    expect(end.stdout).toBe('words without a reader\nlate words\n');
  });

  it('does not repeat earlier stderr of the agent on resume', async () => {
    const first = rig.ralph(['run', 'task', '--name', 'a', '--agent', 'scripted', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await turn.complains('an early complaint\n');
    await first.says('an early complaint\n');
    await turn.prints(`${JSON.stringify({ type: 'progress', tokens: { input: 1 } })}\n`);
    await rig.loop('a').journals('run.output', ({ tokens }) => tokens?.input === 1);
    await first.crashes();
    const second = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.complains('a late complaint\n');
    await turn.prints(`${JSON.stringify({ type: 'result', ok: true, text: '<promise>DONE</promise>' })}\n`);
    await turn.exits(0);
    const end = await second.ended;
    exits(end, 0);
    expect(end.stderr).toContain('a late complaint\n');
    expect(end.stderr).not.toContain('an early complaint\n');
  });

  it('records on resume the exit code of an agent that exited in the meantime', async () => {
    const turn = await orphan('--max-failures', '1');
    await turn.exits(7);
    const end = await rig.does('resume', 'a');
    exits(end, 1);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { how: 'exited', code: 7 } }]);
    expect(end.stderr).toContain('iteration 1 failed (exit: 7)');
    expect(rig.turns).toBe(1);
  });

  it('accepts on resume the claim of an agent that exited in the meantime', async () => {
    const turn = await orphan();
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    const end = await rig.does('resume', 'a');
    exits(end, 0);
    expect(rig.turns).toBe(1);
  });

  it('waits on resume for an agent whose shim was killed too, and records an unknown exit code', async () => {
    const turn = await orphan('--max-failures', '1');
    const shim = Number(rig.loop('a').read('runs', '0001', 'started'));
    process.kill(shim, 'SIGKILL');
    const resumed = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    await turn.answers();
    await turn.prints('<promise>DONE</promise>\n');
    await turn.exits(0);
    const end = await resumed.ended;
    exits(end, 0);
    expect(rig.loop('a').all('run.ended')).toMatchObject([{ ending: { how: 'exited', code: null } }]);
    expect(rig.turns).toBe(1);
  });

  it('S4.42 starts a new run on resume if shim and agent were killed too', async () => {
    const turn = await orphan();
    process.kill(Number(rig.loop('a').read('runs', '0001', 'started')), 'SIGKILL');
    await turn.diesBy('SIGKILL');
    const resumed = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    await endsDone(next, resumed);
    expect(rig.loop('a').all('run.ended')).toMatchObject([
      { run: '1.1', as: 'failure', ending: { code: null } },
      { run: '2.1', as: 'ok' },
    ]);
  });

  it('gets one new owner when several processes resume it at once', async () => {
    const turn = await orphan();
    const candidates = Array.from({ length: 5 }, () => rig.ralph(['resume', 'a']));
    await until('four to give up', () =>
      candidates.filter(({ isOver }) => isOver).length === 4 ? true : null,
    );
    const owner = candidates.find(({ isOver }) => !isOver);
    if (owner === undefined) throw new Error('no process owns the loop');
    await endsDone(turn, owner);
    expect(rig.turns).toBe(1);
    expect(rig.loop('a').all('owner.changed')).toMatchObject([{ owner: String(owner.pid) }]);
    for (const candidate of candidates.filter((other) => other !== owner)) {
      expect(candidate.said).toMatch(/is not paused|is already running \((?:process \d+|another process)\)/);
    }
  });

  it('is archived by run --fresh, which ends the agent first', async () => {
    const turn = await orphan();
    const refused = await rig.does('run', 'task', '--name', 'a', '--', ...rig.agent);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('ralph resume a');
    expect(refused.stderr).toContain('--fresh');
    await turn.answers();

    const fresh = rig.runs(['run', 'task', '--name', 'a', '--fresh', '--', ...rig.agent]);
    const next = await rig.nextTurn();
    await turn.gone;
    expect(turn.heard).toEqual(['SIGTERM']);
    await endsDone(next, fresh);
    expect(rig.loop('a').all('owner.changed')).toEqual([]);
    expect(rig.archive).toEqual([expect.stringMatching(/^a-[0-9a-f]{8}$/)]);
  });

  it('is removed by rm, which ends the agent first', async () => {
    const turn = await orphan();
    const pid = rig.loop('a').all('run.started')[0]?.receipt.pid ?? 0;
    const removed = await rig.does('rm', 'a');
    expect(removed).toMatchObject({ code: 0, stdout: `removed a and stopped its agent (process ${pid})\n` });
    await turn.gone;
    expect(rig.has('.ralph/loops/a')).toBe(false);
    expect(rig.left()).toEqual([]);
    expect((await rig.does('status', 'a')).code).toBe(2);
  });
});

describe('a loop whose owner is killed while no agent runs', () => {
  it('can be started again under its name if its journal has no complete event', async () => {
    await rig.does('run', 'task', '--name', 'a', '-m', '1', '--', ...rig.plain('exit'));
    const [header = ''] = rig.loop('a').read('journal.jsonl').split('\n');
    for (const rest of ['', header, `${header}\n`, `${header}\n{"n":1,"sum":"`]) {
      writeFileSync(rig.loop('a').file('journal.jsonl'), rest);
      rmSync(rig.loop('a').file('runs'), { recursive: true });
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const end = await rig.does('run', 'task', '--name', 'a', '-m', '1', '--', ...rig.plain('echo ran'));
      expect(end, `after ${JSON.stringify(rest)}`).toMatchObject({ code: 1, stdout: 'ran\n' });
    }
  });

  it('kills its orphaned check on resume, and runs it again', async () => {
    const gate = rig.gate();
    const check = `echo $$ >>started; read go <${gate.path}`;
    const args = ['run', 'task', '--name', 'a', '--check', check];
    const first = rig.ralph([...args, '--', ...rig.plain('echo "<promise>DONE</promise>"; echo >>turns')]);
    const [pid] = await rig.appears('started');
    await first.crashes();
    expect(lives(Number(pid))).toBe(true);

    const second = rig.runs(['resume', 'a']);
    await rig.appears('started', 2);
    expect(lives(Number(pid))).toBe(false);
    gate.open();
    const end = await second.ended;
    exits(end, 0);
    expect(rig.lines('started')).toHaveLength(2);
    expect(rig.read('turns')).toBe('\n');
    expect(rig.loop('a').all('check.finished')).toHaveLength(1);
  });

  it('waits on resume until the same time, and counts the failure once', async () => {
    const script = 'echo >>turns; test "$RALPH_ITERATION" = 2 || exit 1; echo "<promise>DONE</promise>"';
    const first = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.plain(script)]);
    await rig.loop('a').journals('checkpoint.taken');
    const wait = () => decide(rig.loop('a').state).find(({ type }) => type === 'wait');
    const before = wait();
    expect(before).toMatchObject({ why: 'backoff' });
    await first.crashes();
    const second = rig.runs(['resume', 'a']);
    await rig.loop('a').journals('owner.changed');
    expect(wait()).toEqual(before);

    const end = await second.ended;
    exits(end, 0);
    const [fired] = rig.loop('a').all('timer.fired');
    expect(fired?.at).toBeGreaterThanOrEqual((before?.type === 'wait' ? before.until : null) ?? Infinity);
    expect(rig.loop('a').state.failures.total).toBe(1);
    expect(rig.lines('turns')).toEqual([]);
    expect(rig.read('turns')).toBe('\n\n');
  });
});
