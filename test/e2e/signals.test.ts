import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lives } from '../rig/cli/leftovers.ts';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

describe('the first signal', () => {
  for (const [signal, preset, numbers] of [
    ['SIGINT', 'default', ''],
    ['SIGINT', 'ralph-cli', 'S2.70 S2.71 S2.72 S2.115 '],
    ['SIGTERM', 'ralph-cli', 'S2.70 S2.71 S2.72 S2.115 '],
    ['SIGINT', 'architect', 'S3.61 '],
    ['SIGTERM', 'architect', 'S3.61 '],
  ] as const) {
    it(`${numbers}lets the agent finish, then Ralph exits with 130 (${signal}, ${preset})`, async () => {
      const check = ['--check', 'echo checked >>checked'];
      const program = rig.ralph([
        'run',
        'task',
        '--name',
        'a',
        '--preset',
        preset,
        ...check,
        '--',
        ...rig.agent,
      ]);
      const turn = await rig.nextTurn();
      await rig.loop('a').journals('run.started');
      program.signal(signal);
      const received =
        preset === 'ralph-cli'
          ? 'Received signal, shutting down...'
          : `received ${signal}, finishing the running step (press Ctrl-C again to stop it now)`;
      await program.says(received);
      await turn.answers();
      await turn.prints('my last words\n');
      await turn.exits(0);
      const end = await program.ended;
      exits(end, 130);
      expect(end.stdout).toBe('my last words\n');
      expect(end.stderr).toContain(`[ralph] a: ${received}\n`);
      expect(turn.heard).toEqual([]);
      expect(rig.turns).toBe(1);
      expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'signal', signal });
      expect(rig.loop('a').all('run.ended')).toMatchObject([{ as: 'ok', ending: { code: 0 } }]);
    });
  }

  it('S2.70 S2.115 lets a running check finish', async () => {
    const gate = rig.gate();
    const args = ['run', 'task', '--name', 'a', '--preset', 'ralph-cli'];
    const check = ['--check', `echo began >>began; read go <${gate.path}`];
    const program = rig.ralph([...args, ...check, '--', ...rig.plain('echo "<response>DONE</response>"')]);
    await rig.appears('began');
    program.signal('SIGINT');
    await program.says('Received signal, shutting down...');
    gate.open();
    const end = await program.ended;
    exits(end, 130);
    expect(rig.loop('a').all('check.finished')).toMatchObject([{ result: { code: 0 } }]);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'signal', signal: 'SIGINT' });
  });

  it('ends a wait at once', async () => {
    const args = ['run', 'task', '--name', 'a', '--restart-delay', '1h'];
    const program = rig.ralph([...args, '--', ...rig.plain('date +%N >changed')]);
    await rig.loop('a').journals('probe.finished', ({ phase }) => phase === 'after');
    program.signal('SIGINT');
    const end = await program.ended;
    exits(end, 130);
    expect(rig.loop('a').all('iteration.started')).toHaveLength(1);
  });

  it('S4.76 pauses the loop, and resume continues it (SIGTERM, swarm)', async () => {
    rig.write('PROMPT.md', 'task');
    const args = [
      'run',
      '-f',
      'PROMPT.md',
      '--name',
      'a',
      '--preset',
      'swarm',
      '-m',
      '2',
      '--restart-delay',
      '0',
    ];
    const program = rig.ralph([...args, '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    program.signal('SIGTERM');
    await program.says('received SIGTERM, pausing loop (current agent will complete)');
    await turn.answers();
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(turn.heard).toEqual([]);
    expect(end.stderr).toContain('paused, exiting loop');
    const asked = await rig.does('status', 'a');
    expect(asked.code).toBe(1);
    expect(asked.stdout).toContain('Status: paused\nIteration: 1/2\n');

    const resumed = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    expect(next.env['RALPH_ITERATION']).toBe('2');
    await next.exits(0);
    exits(await resumed.ended, 0);
    expect(rig.turns).toBe(2);
  });

  it('can be followed by resume, which starts the next iteration', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    program.signal('SIGINT');
    await program.says('received SIGINT');
    await turn.exits(0);
    const end = await program.ended;
    expect(end.stderr).toContain('resume      ralph resume a\n');
    const resumed = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    expect(next.env['RALPH_ITERATION']).toBe('2');
    await next.prints('<promise>DONE</promise>\n');
    await next.exits(0);
    exits(await resumed.ended, 0);
  });
});

describe('the second signal', () => {
  it('S3.61 stops the agent with SIGTERM, then Ralph exits with 130', async () => {
    const args = ['run', 'task', '--name', 'a', '--preset', 'architect', '--check', 'false'];
    const program = rig.ralph([...args, '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    const server = await turn.leaves('sleep', '1000');
    program.signal('SIGINT');
    await program.says('received SIGINT, finishing the running step');
    await turn.answers();
    program.signal('SIGINT');
    await turn.gone;
    const end = await program.ended;
    exits(end, 130);
    expect(turn.heard).toEqual(['SIGTERM']);
    expect(lives(server)).toBe(false);
    expect(end.stderr).toContain('received SIGINT again, stopping the running step now');
    expect(rig.loop('a').state.outcome).toEqual({ type: 'stopped', by: 'signal', signal: 'SIGINT' });
    expect(rig.left()).toEqual([]);
  });

  it('kills the agent after --kill-grace if it ignores SIGTERM', async () => {
    const args = ['run', 'task', '--name', 'a', '--kill-grace', '300ms'];
    const program = rig.ralph([...args, '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await turn.ignores('SIGTERM');
    await rig.loop('a').journals('run.started');
    program.signal('SIGINT');
    await program.says('received SIGINT, finishing the running step');
    program.signal('SIGTERM');
    const end = await program.ended;
    // SIGTERM is what ended the step.
    exits(end, 143);
    expect(turn.heard).toEqual(['SIGTERM']);
    const [second] = rig.loop('a').all('control.received').slice(1);
    const [ended] = rig.loop('a').all('run.ended');
    expect(ended).toMatchObject({ as: 'interrupted', ending: { how: 'interrupted' } });
    expect((ended?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(300);
    expect(rig.loop('a').read('runs', '0001', 'exit')).toBe('137\n');
    expect(rig.left()).toEqual([]);
  });

  it('ends a running check', async () => {
    const gate = rig.gate();
    const check = `echo $$ >>began; read go <${gate.path}`;
    const args = ['run', 'task', '--name', 'a', '--check', check];
    const program = rig.ralph([...args, '--', ...rig.plain('echo "<promise>DONE</promise>"')]);
    await rig.appears('began');
    program.signal('SIGINT');
    await program.says('received SIGINT, finishing the running step');
    program.signal('SIGINT');
    const end = await program.ended;
    exits(end, 130);
    expect(rig.loop('a').all('check.finished')).toEqual([]);
    expect(rig.left()).toEqual([]);
  });
});

describe('output without a reader', () => {
  it('does not end the loop when the terminal is closed (SIGHUP)', async () => {
    const program = rig.ralph(['run', 'task', '--name', 'a', '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await rig.loop('a').journals('run.started');
    program.loseReaders();
    program.signal('SIGHUP');
    await turn.prints('output without a reader\n');
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(turn.heard).toEqual([]);
    await next.prints('<promise>DONE</promise>\n');
    await next.exits(0);
    exits(await program.ended, 0);
    expect(rig.loop('a').state.outcome).toMatchObject({ type: 'done' });
  });

  it('does not change the exit code when the other end of a pipe exits (| head -1)', async () => {
    const count = 'i=0; while [ $i -lt 2000 ]; do echo "line $i of many without a reader"; i=$((i+1)); done';
    const args = ['run', 'task', '--name', 'a', '--max-failures', '1'];
    const program = rig.ralph([...args, '--', ...rig.plain(`${count}; exit 3`)]);
    await program.says('line 0');
    program.loseReaders();
    exits(await program.ended, 1);
    expect(rig.loop('a').state.outcome).toEqual({ type: 'failures-exhausted', failures: 1 });
    expect(rig.loop('a').read('runs', '0001', 'stdout.log')).toContain('line 1999 of many');
  });
});
