/** Questions that an agent asks on the bus: the loop waits, survives, and continues with the answer. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { busAt } from '../../src/bus/bus-file.ts';
import { post } from '../../src/bus/bus.ts';
import { draft } from '../../src/bus/message.ts';
import { exits } from '../rig/cli/program.ts';
import { claims, firstTurn, firstTurnOfProcess } from '../rig/cli/first-turn.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import type { Turn } from '../rig/cli/turn.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

function bus(turn: Turn): string {
  return turn.env['MESSAGE_BUS'] ?? '';
}

function ask(turn: Turn, body: string, meta: Record<string, string> = {}): Promise<string> {
  return post(busAt(bus(turn)), draft({ type: 'QUESTION', projectId: 'p', body, meta }));
}

/** The question is known during the run; the loop waits before the next one. */
async function waits(): Promise<void> {
  await rig.loop('a').journals('probe.finished', ({ phase }) => phase === 'before', 2);
}

describe('a question on the bus', () => {
  it('makes the loop wait; the answer is in the next prompt', async () => {
    const { program, turn } = await firstTurn(rig);
    await ask(turn, 'Which database?');
    await turn.exits(0);
    await program.says('the agent asks: Which database?');
    await program.says('answer with: ralph answer a "…"');
    await waits();
    const status = await rig.does('status', 'a');
    expect(status.stdout).toContain('Waiting: answer (Which database?)\n');
    expect(JSON.parse((await rig.does('status', 'a', '--json')).stdout)).toMatchObject({
      questions: [{ text: 'Which database?', default: null, until: null }],
    });
    expect(rig.turns).toBe(1);

    expect(await rig.does('answer', 'a', 'PostgreSQL', '16')).toMatchObject({
      code: 0,
      stdout: 'answered a: Which database?\n',
    });
    const next = await rig.nextTurn();
    expect(next.prompt).toContain('You asked: Which database?\nThe answer: PostgreSQL 16');
    await claims(next);
    exits(await program.ended, 0);
    expect((await rig.does('story', 'a')).stdout).toContain('a person answered: PostgreSQL 16');
  });

  it('cannot add lines to the status of its loop', async () => {
    const { program, turn } = await firstTurn(rig);
    await ask(turn, 'Really?\nStatus: done — x', {
      default: 'a\nb',
      timeout_ms: String(Number.MAX_SAFE_INTEGER),
    });
    await turn.exits(0);
    await waits();
    const { stdout } = await rig.does('status', 'a');
    expect(stdout).toMatch(/^Waiting: answer until \d{4}-.* \(Really\? Status: done — x\)$/m);
    expect(stdout).toMatch(
      /^Question: Really\?\n {2}Status: done — x\n {2}answer with: ralph answer a .*\n {2}without an answer: "a\\nb" at /m,
    );
    expect(stdout).not.toMatch(/^Status: done/m);
    expect((await rig.does('ls')).stdout.trim().split('\n')).toHaveLength(2);
    await rig.does('stop', 'a');
    await program.ended;
  });

  it('is still open after the owner was killed, and can be answered before the next one', async () => {
    const { program, turn } = await firstTurnOfProcess(rig);
    await ask(turn, 'Continue?');
    await turn.exits(0);
    await program.says('the agent asks: Continue?');
    await program.crashes();
    expect((await rig.does('answer', 'a', 'yes')).code).toBe(0);
    const again = await rig.does('answer', 'a', 'no');
    exits(again, 2);
    expect(again.stderr).toContain('loop a has no open question (an answer is queued already)');
    const second = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    expect(next.prompt).toContain('The answer: yes');
    await claims(next);
    exits(await second.ended, 0);
    expect(rig.loop('a').all('question.asked')).toHaveLength(1);
  });

  it('can be answered after the loop was stopped; the answer counts when the loop is resumed', async () => {
    const { program, turn } = await firstTurn(rig);
    await ask(turn, 'Continue?');
    await turn.exits(0);
    await program.says('the agent asks: Continue?');
    await rig.does('stop', 'a');
    exits(await program.ended, 130);
    expect(await rig.does('answer', 'a', 'yes')).toMatchObject({
      code: 0,
      stdout: 'queued for a: the loop is not running; it takes effect with: ralph resume a\n',
    });
    const second = rig.runs(['resume', 'a']);
    const next = await rig.nextTurn();
    expect(next.prompt).toContain('You asked: Continue?\nThe answer: yes');
    await claims(next);
    exits(await second.ended, 0);
  });

  it('continues with its default if no answer comes in time', async () => {
    const { program, turn } = await firstTurn(rig);
    await ask(turn, 'Which port?', { default: '8080', timeout_ms: '1000' });
    await turn.exits(0);
    const next = await rig.nextTurn();
    expect(next.prompt).toContain('Continue with your default: 8080');
    await claims(next);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toContain('no answer in time, continuing with the default');
  });

  it('cannot be answered from inside a run, nor if there is none', async () => {
    const { program, turn } = await firstTurn(rig);
    expect(await rig.does('answer', 'a', 'yes')).toMatchObject({
      code: 2,
      stderr:
        'ralph: error: loop a has no open question; to add words to its next prompt: ralph tell a "…"\n',
    });
    await ask(turn, 'May I?');
    await program.says('the agent asks: May I?');
    const env = { RALPH_RUN_ID: turn.env['RALPH_RUN_ID'] ?? '' };
    const forged = await rig.runs(['answer', 'a', 'yes'], { env }).ended;
    expect(forged.code).toBe(2);
    expect(rig.loop('a').state.questions).toHaveLength(1);
    await claims(turn);
    exits(await program.ended, 0);
  });
});

describe('other messages on the bus', () => {
  it('are a section of the next prompt, once', async () => {
    const { program, turn } = await firstTurn(rig);
    const to = busAt(bus(turn));
    await post(
      to,
      draft({ type: 'PROGRESS', projectId: 'p', runId: 'elsewhere', body: 'half of it is done' }),
    );
    await turn.exits(0);
    const second = await rig.nextTurn();
    expect(second.prompt).toContain('## Messages');
    expect(second.prompt).toContain('(PROGRESS) elsewhere\nhalf of it is done');
    await post(to, draft({ type: 'USER', projectId: 'p', body: 'and now the other half' }));
    await second.exits(0);
    const third = await rig.nextTurn();
    expect(third.prompt).toContain('and now the other half');
    expect(third.prompt).not.toContain('half of it is done');
    await third.exits(0);
    const fourth = await rig.nextTurn();
    expect(fourth.prompt).not.toContain('## Messages');
    await claims(fourth);
    exits(await program.ended, 0);
  });

  it('do not stop the loop if the bus is a link', async () => {
    const { program, turn } = await firstTurn(rig);
    const { symlinkSync } = await import('node:fs');
    symlinkSync(join(rig.workspace, 'elsewhere'), bus(turn));
    await turn.exits(0);
    await claims(await rig.nextTurn());
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toContain('warning: cannot use the message bus');
  });
});
