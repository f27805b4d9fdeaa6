/** A pattern that needs any time ends its own loop, and no other. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const SLOW = '(a+)+$';
const TEXT = `${'a'.repeat(3000)}!\n`;
const REASON = 'the done pattern (a+)+$ needs more than 2 s to search';

const SLOW_END = { type: 'fatal', message: expect.stringContaining(REASON) as unknown };

describe('a done pattern that backtracks without end', () => {
  it('ends its loop in the foreground, with the reason', async () => {
    const loop = rig.ralph(['run', 'task', '--name', 'a', '--done-pattern', SLOW, '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await turn.prints(TEXT);
    await turn.exits(0);
    const ended = await loop.ended;
    exits(ended, 3);
    expect(ended.stderr).toContain(REASON);
    expect(await rig.loop('a').journals('loop.ended')).toMatchObject({ outcome: SLOW_END });

    const again = rig.ralph([
      'run',
      'task',
      '--name',
      'a',
      '--fresh',
      '--done-pattern',
      'a+$',
      '--',
      ...rig.agent,
    ]);
    const next = await rig.nextTurn();
    await next.prints('aaa\n');
    await next.exits(0);
    exits(await again.ended, 0);
  });

  it('does not keep SIGTERM from ending a loop in the foreground', async () => {
    const loop = rig.ralph(['run', 'task', '--name', 'a', '--done-pattern', SLOW, '--', ...rig.agent]);
    const turn = await rig.nextTurn();
    await turn.prints(TEXT);
    await turn.exits(0);
    loop.signal('SIGTERM');
    await loop.ended;
    expect(await rig.loop('a').journals('loop.ended')).toMatchObject({
      outcome: { type: expect.stringMatching(/^(?:fatal|stopped)$/) as unknown },
    });
    expect(rig.left()).toEqual([]);
  });

  it.each([
    ['ralph run --detach', ['run', 'task', '--detach']],
    ['ralph spawn', ['spawn', 'task', '--no-tmux', '-m', '5']],
  ])('ends a loop of %s, and the other loops of the daemon go on', async (_, begin) => {
    const starts = async (name: string, ...rest: readonly string[]): Promise<void> =>
      exits(await rig.does(...rest, '--name', name, '--', ...rig.agent), 0);
    await starts('calm', 'run', 'task', '--detach');
    const calm = await rig.nextTurn();
    const daemon = await rig.daemon.runs();
    await starts('slow', ...begin, '--done-pattern', SLOW);
    const turn = await rig.nextTurn();
    await turn.prints(TEXT);
    await turn.exits(0);
    expect(await rig.loop('slow').journals('loop.ended')).toMatchObject({ outcome: SLOW_END });
    expect(await rig.daemon.runs()).toBe(daemon);
    await calm.prints('<promise>DONE</promise>\n');
    await calm.exits(0);
    expect(await rig.loop('calm').journals('loop.ended')).toMatchObject({ outcome: { type: 'done' } });
  });
});
