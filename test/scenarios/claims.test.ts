/** How Ralph reports what an agent said about being done. */
import { describe, expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

const task = ['-p', 'work'];
const count = (text: string, words: string): number => text.split(words).length - 1;
const says = (...lines: readonly string[]): string =>
  `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`;

describe('a tag that does not count', () => {
  it.each([
    ['after a list dash', says('All green.', '- <promise>DONE</promise>'), 'inside other text'],
    ['in backticks', says('`<promise>DONE</promise>`'), 'in code'],
    ['in a quotation', says('> <response>DONE</response>'), 'in a quotation'],
  ])('%s is reported on the screen, in the journal and in the next prompt', async (_, script, where) => {
    const stage = openLoadedStage();
    stage.plans(1, script);
    stage.plans(2, says('**<promise>DONE</promise>**'));
    const { code, stderr } = await stage.run(...task);
    const tag = script.includes('<response>') ? '<response>DONE</response>' : '<promise>DONE</promise>';
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(count(stderr, 'which is no claim')).toBe(1);
    expect(stderr).toContain(`[ralph] it: the agent wrote ${tag} ${where}, which is no claim`);
    const misses = stage.journal.flatMap((event) => ('nearMiss' in event ? [event['nearMiss']] : []));
    expect(misses).toMatchObject([{ tag }]);
    expect(stage.given(1, 'stdin')).not.toContain('which is no claim');
    expect(stage.given(2, 'stdin')).toContain(`The previous run wrote ${tag} ${where}, which is no claim`);
    expect(stage.given(2, 'stdin')).not.toMatch(/^\s*<(?:promise|response)>DONE<\/\w+>\s*$/m);
  });

  it.each([
    ['as it is', 'cat "$FAKE_CALL/stdin"'],
    ['behind >', 'sed "s/^/> /" "$FAKE_CALL/stdin"'],
  ])('is not reported if it stands in the prompt that the agent prints %s', async (_, echo) => {
    const stage = openLoadedStage();
    stage.plans('default', `${echo}; echo; echo working`);
    const { code, stderr } = await stage.run(...task, '-m', '1');
    expect(code).toBe(1);
    expect(stderr).not.toContain('no claim');
    expect(JSON.stringify(stage.journal)).not.toContain('nearMiss');
  });

  it.each([
    ['by a tag', says('<promise>DONE</promise>')],
    ['by the marker file', ': > "$RALPH_DONE_FILE"'],
  ])('is not reported if the agent also claims %s', async (_, claim) => {
    const stage = openLoadedStage();
    stage.plans('default', `${says('I must write `<promise>DONE</promise>`.')}; ${claim}`);
    const { code, stderr } = await stage.run(...task, '-m', '1');
    expect(code).toBe(0);
    expect(stderr).not.toContain('no claim');
  });
});

describe('checks that pass without a claim', () => {
  it.each(['default', 'ralph-cli', 'architect'])('are reported in the preset %s', async (preset) => {
    const stage = openLoadedStage();
    const args = ['--preset', preset, '-m', '2', '--check', 'true', '--check', 'test -e fixed'];
    stage.plans(2, ': > fixed');
    const { code, stderr } = await stage.run(...task, ...args);
    expect(code).toBe(1);
    expect(count(stderr, 'it: every check passes, but the agent has not claimed to be done\n')).toBe(1);
    expect(stderr.lastIndexOf('check passed: ')).toBeLessThan(stderr.indexOf('every check passes, but'));
  });

  it('are not reported if the agent claims, or if no claim is needed', async () => {
    const stage = openLoadedStage();
    stage.plans(1, says('<promise>DONE</promise>'));
    const claimed = await stage.run(...task, '--check', 'true');
    expect([claimed.code, claimed.stderr]).toEqual([0, expect.not.stringContaining('has not claimed')]);
    const alone = await stage.run(...task, '--check', 'true', '--until', 'checks');
    expect([alone.code, alone.stderr]).toEqual([0, expect.not.stringContaining('has not claimed')]);
  });

  it('make the nudge ask for a claim, and the final report mention --until checks', async () => {
    const stage = openLoadedStage();
    const stuck = await stage.run(...task, '--check', 'true');
    expect({ code: stuck.code, calls: stage.calls }).toEqual({ code: 1, calls: 5 });
    expect(stuck.stderr).toContain('--until checks');
    expect(stage.given(4, 'stdin')).toMatch(/Every check passes\. If the whole task is done, claim it now: /);
  });
});
