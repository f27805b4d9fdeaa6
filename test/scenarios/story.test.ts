import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openJournal } from '../../src/journal/file.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";

/** A loop whose first claim is rejected, and whose second is accepted. */
async function nightOf(stage: Stage): Promise<string> {
  stage.plans(1, DONE);
  stage.plans(2, `: > fixed; ${DONE}`);
  const { stderr } = await stage.run('-p', 'work', '-m', '5', '--check', 'test -e fixed');
  return stderr;
}

const told = (stdout: string): readonly string[] =>
  stdout
    .trimEnd()
    .split('\n')
    .filter((line) => /^\d\d:/.test(line))
    .map((line) => line.slice('12:00:00  '.length).replaceAll(/\d+\.\ds|\d+s/g, '#s'));

describe('ralph story', () => {
  it('tells what happened in a loop that has ended, with times', async () => {
    const stage = openLoadedStage();
    expect(await nightOf(stage)).toContain('story       ralph story it');
    const { code, stdout, stderr } = await stage.ralph('story', 'it').ended;
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\d\n\d\d:\d\d:\d\d {2}loop it created: agent /);
    expect(told(stdout).slice(1)).toEqual([
      'starting iteration 1/5',
      'iteration 1 completed (exit: 0, duration: #s), cost: unknown',
      'check failed: test -e fixed (exit 1, #s) — .ralph/loops/it/runs/0001/checks/test_e_fixed.log',
      'the agent claims to be done (promise-tag: <promise>DONE</promise>)',
      'claim rejected: the agent says it is done, but 1 check fails: test -e fixed',
      'starting iteration 2/5',
      'iteration 2 completed (exit: 0, duration: #s), cost: unknown',
      'check passed: test -e fixed (exit 0, #s)',
      'the agent claims to be done (promise-tag: <promise>DONE</promise>)',
      'claim accepted: every check passed',
      'ended after #s: done: claim accepted, and every check passed after the last run (exit code 0)',
      'in all: cost unknown; tokens unknown; 0 commits; 1 changed file; no waits',
    ]);
  });

  it('ends with totals, which are the sums of its entries', async () => {
    const stage = openLoadedStage();
    stage.identifies();
    stage.installs('claude');
    stage.settings({
      agent: { command: 'claude' },
      scm: { command: 'git', tasks: ['commit'] },
    });
    const says = (usd: number, more: object): string =>
      `echo '${JSON.stringify({ type: 'result', subtype: 'success', total_cost_usd: usd, ...more })}'`;
    const overloaded = { is_error: true, subtype: 'error', result: 'API Error: 529 overloaded_error' };
    stage.plans(1, `${says(0.25, overloaded)}; exit 1`);
    stage.plans(2, `: > one; : > two; ${says(0.5, { result: 'made' })}`);
    stage.plans(3, says(0.125, { result: 'Add one and two' }));
    const until = ['--until', 'checks', '--check', 'test -e two'];
    expect((await stage.ralph('run', '--name', 'it', '-p', 'work', ...until).ended).code).toBe(0);
    const text = told((await stage.ralph('story', 'it').ended).stdout);
    const costs = text
      .filter((line) => line.includes(', cost: '))
      .map((line) => line.replace(/.* cost: /, ''));
    expect(costs).toEqual(['$0.2500', '$0.5000', '$0.1250']);
    expect(text.at(-1)).toBe(
      'in all: cost $0.8750 reported; tokens: 0; 1 commit; 2 changed files; waited #s (1 wait)',
    );
    const { stdout } = await stage.ralph('story', 'it', '--json').ended;
    const entries = stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line));
    const ended = entries.filter((entry) => JSON.stringify(entry).includes('"costUsd":'));
    expect(ended).toMatchObject([
      { type: 'run.ended', costUsd: 0.25 },
      { type: 'run.ended', costUsd: 0.5 },
      { type: 'run.ended', costUsd: 0.125 },
      { type: 'loop.ended', costUsd: 0.875 },
      { type: 'totals' },
    ]);
    expect(entries.at(-1)).toMatchObject({
      type: 'totals',
      totals: { costUsd: 0.875, costSource: 'reported', commits: 1, changedFiles: 2, waits: 1 },
    });
  });

  it('tells one iteration, or only the last hours', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const second = await stage.ralph('story', 'it', '--iteration', '2').ended;
    expect(told(second.stdout)[0]).toBe('starting iteration 2/5');
    expect(told(second.stdout)).toHaveLength(6);
    const recent = await stage.ralph('story', 'it', '--since', '2h').ended;
    // The sums are those of the whole loop.
    expect(told(recent.stdout)).toHaveLength(12);
    expect(recent.stdout).not.toContain('in all:');
    const nothing = await stage.ralph('story', 'it', '--since', '0s').ended;
    expect([nothing.code, nothing.stdout]).toEqual([0, '']);
    expect(nothing.stderr).toMatch(/^ralph: nothing happened in loop it since \d\d:\d\d:\d\d\n$/);
  });

  it('prints one JSON object per line with --json', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const { stdout } = await stage.ralph('story', 'it', '--json').ended;
    const lines = stdout.trimEnd().split('\n');
    const entries = lines.map((line): unknown => JSON.parse(line));
    expect(entries).toHaveLength(13);
    expect(lines[3]).toMatch(
      /^\{"at":"\d{4}-\d\d-\d\dT[\d:.]{12}Z","type":"check\.finished","iteration":1,"text":"check failed: test -e fixed .*","durationMs":\d+\}$/,
    );
    expect(entries.at(-2)).toMatchObject({ type: 'loop.ended', iteration: 2, costUsd: null });
    expect(entries.at(-1)).toMatchObject({ type: 'totals', iteration: 2, totals: { costUsd: null } });
  });

  it('tells of a loop that runs, that crashed and that was taken over', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    stage.plans(2, DONE);
    const ralph = stage.starts('-p', 'work', '-m', '2');
    await stage.waitForCall(1);
    const running = told((await stage.ralph('story', 'it').ended).stdout);
    expect(running.at(-2)).toMatch(/^still running \(process \d+\), iteration 1\/2$/);
    ralph.signal('SIGKILL');
    await ralph.ended;
    const crashed = told((await stage.ralph('story', 'it').ended).stdout);
    expect(crashed.at(-2)).toMatch(/^crashed: no process runs it.*; resume it with: ralph resume it$/);
    const resumed = stage.ralph('resume', 'it');
    await stage.waitForEvents('owner.changed');
    stage.release();
    await resumed.ended;
    const taken = told((await stage.ralph('story', 'it').ended).stdout);
    expect(taken).toContainEqual(
      expect.stringMatching(
        /^the loop crashed; process \d+ took it over after #s: reattached to the agent of iteration 1\/2$/,
      ),
    );
    expect(taken.at(-2)).toMatch(/^ended after #s: .* \(exit code \d+\)$/);
  });

  it('ends quietly when its reader goes away', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const { stdout, stderr } = await stage.shell('{ $RALPH story it; echo "exit $?" >&2; } | head -1').ended;
    expect(stdout).toMatch(/^\d{4}-\d\d-\d\d\n$/);
    expect(stderr).toBe('exit 0\n');
  });

  it('exits 2 with a message for an unknown loop, a bad name and a bad option', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const fails = async (...args: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await stage.ralph('story', ...args).ended;
      expect([code, stdout]).toEqual([2, '']);
      return stderr;
    };
    expect(await fails('other')).toContain('no loop named "other" in this workspace (known here: it');
    expect(await fails('../it')).toContain('invalid loop name "../it"');
    expect(await fails('it', '--since', 'yesterday')).toContain('--since must be a time');
    expect(await fails('it', '--iteration', '0')).toContain('--iteration must be a whole number >= 1');
    expect(await fails('it', '--iteration', '99')).toBe(
      'ralph: error: loop it has no iteration 99 (iterations: 1 to 2)\n',
    );
    expect((await stage.ralph('story').ended).stderr).toBe(
      'ralph: loop it, the only one in this workspace\n',
    );
  });

  it('tells the part before a damaged line, then names the line and exits 2', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const path = stage.file('journal.jsonl');
    const lines = readFileSync(path, 'utf8').split('\n');
    lines[5] = 'damaged';
    writeFileSync(path, lines.join('\n'));
    const { code, stdout, stderr } = await stage.ralph('story', 'it').ended;
    expect(code).toBe(2);
    expect(told(stdout)[0]).toMatch(/^loop it created/);
    expect(stderr).toContain('journal.jsonl:6: this line is damaged');
  });

  it('needs no more memory for a long journal', async () => {
    const stage = openLoadedStage();
    await nightOf(stage);
    const measure = new URL('../fixtures/tells-peak-memory.mjs', import.meta.url).pathname;
    const peak = async (command: string): Promise<number> => {
      const file = stage.path('peak');
      // How far the young generation grows is a matter of timing.
      const env = { RALPH_E2E_PEAK: file, NODE_OPTIONS: `--import ${measure} --max-semi-space-size=4` };
      expect(await stage.shell(`$RALPH ${command} it > /dev/null`, env).ended).toMatchObject({ code: 0 });
      return Number(readFileSync(file, 'utf8')) * 1024;
    };
    const short = [await peak('story'), await peak('report')];
    const journal = openJournal(stage.file('journal.jsonl'));
    const event = { type: 'child.ended', child: 'x'.repeat(10_000), at: Date.now() } as const;
    for (let count = 0; count < 5000; count++) journal.append(event, journal.length);
    journal.close();
    // The journal has 50 MB.
    const long = [await peak('story'), await peak('report')];
    for (const [at, bytes] of long.entries()) expect(bytes - (short[at] ?? 0)).toBeLessThan(40 * 1024 * 1024);
  });
});
