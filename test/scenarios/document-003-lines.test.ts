/** Every example line of document 003, as it is printed, under `alias swarm=ralph`. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Terminals } from '../rig/cli/terminal.ts';
import { claudeAnswers, claudeSays, openLines, TYPED, type Lines } from './document-lines.ts';
import { waitFor } from './stage.ts';

// Where a line names a loop, and the one difference: a loop's files are in its workspace (S4.27, S4.30).
const AT = { '<name>': 'agent', '~/.swarm/ralph/': '.ralph/loops/' };
const SPAWN = 'swarm spawn --name agent --ralph --prompt-file ./PROMPT.md --max-iterations 10 -- claude';
const PRINTED: readonly string[] = [
  'swarm ralph init',
  'swarm ralph template',
  'swarm ralph template > my-custom-prompt.md',
  'swarm ralph init --force',
  'swarm ralph template > BUILD_PROMPT.md',
  'swarm attach <name>',
  'swarm ralph status <name>',
  'swarm logs <name> --follow',
  'tail -f ~/.swarm/ralph/<name>/iterations.log',
  'swarm status <name>',
  "swarm ls --format json | jq '.[] | select(.metadata.ralph == true)'",
  `watch -n 5 'for w in $(swarm ls --format names); do echo "=== $w ==="; swarm ralph status $w 2>/dev/null || swarm status $w; done'`,
  `swarm spawn --name agent --ralph --prompt-file ./PROMPT.md --max-iterations 100 -- claude \\
  && notify-send "Ralph complete" \\
  || notify-send "Ralph failed"`,
  `tail -f ~/.swarm/ralph/agent/iterations.log | grep --line-buffered "FAIL\\|complete" | while read line; do
  notify-send "Ralph: $line"
done`,
  'swarm ralph pause <name>',
  'swarm ralph resume <name>',
  SPAWN,
  'swarm ralph pause agent',
  'swarm ralph resume agent',
  'swarm ralph status agent',
  'swarm spawn --ralph --prompt-file ./missing.md --max-iterations 10 -- claude',
  'vim ~/.swarm/ralph/<name>/state.json',
  'swarm kill <name>',
  'swarm spawn --name <name> --ralph --prompt-file ./PROMPT.md --max-iterations 200 -- claude',
  'rm -rf ~/.swarm/ralph/<name>/',
  'rm -rf ~/.swarm/ralph/',
];

/** Types a line and returns its exit code and output. */
const does = async ({ types }: Lines, line: string) => {
  const { code, stdout, stderr } = await types(line, AT).ended;
  return { code, stdout, stderr };
};
const good = (stdout: unknown): unknown => expect.objectContaining({ code: 0, stdout });
const says = (pattern: RegExp): unknown => expect.stringMatching(pattern);
// Where there is no tmux the loop has no window.
const spawned = (iterations: number): RegExp =>
  new RegExp(`^spawned agent(?: \\(tmux: ralph:agent\\))? \\[ralph mode: iteration 1/${iterations}\\]$`, 'm');

describe('under alias swarm=ralph', () => {
  it('S4.56 S4.57 S4.58 S4.59 S4.60 the lines about the prompt template do as document 003 says', async () => {
    const lines = openLines('swarm');
    const { stage } = lines;
    expect(await does(lines, 'swarm ralph init')).toEqual(good('created PROMPT.md\n'));
    const template = stage.read('PROMPT.md');
    expect(await does(lines, 'swarm ralph init')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'ralph: error: PROMPT.md already exists (use --force to overwrite)\n',
    });
    expect(await does(lines, 'swarm ralph init --force')).toEqual(good('created PROMPT.md (overwritten)\n'));
    expect(await does(lines, 'swarm ralph template')).toEqual(good(template));
    for (const file of ['my-custom-prompt.md', 'BUILD_PROMPT.md']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, as a person types
      expect(await does(lines, `swarm ralph template > ${file}`)).toEqual(good(''));
      expect(stage.read(file)).toBe(template);
    }
  });

  it('S4.35 S4.36 S4.43 S4.47 S4.64 S4.65 S4.66 S4.67 the lines about a running loop do as document 003 says', async () => {
    const lines = openLines('swarm');
    const { stage, types } = lines;
    await does(lines, 'swarm ralph init');
    stage.plans(1, `${claudeSays('half of it\n')}\n${waitFor()}\n${claudeAnswers('done')}`);
    stage.plans(2, waitFor('never'));
    const spawn = types(SPAWN, AT);
    await stage.waitForCall(1);
    await spawn.until('[ralph mode: iteration 1/10]', 'stdout');
    expect(spawn.stdout).toMatch(spawned(10));
    const shown =
      /^Ralph Loop: agent\nStatus: running\nIteration: 1\/10\nStarted: .*\nCurrent iteration started: /;
    expect(await does(lines, 'swarm status <name>')).toEqual(good(says(shown)));
    expect(await does(lines, 'swarm ralph status <name>')).toEqual(good(says(shown)));
    const record = /^\{.*"name":"agent","parent":null,"status":"running".*\}\n$/;
    expect(await does(lines, PRINTED[10] ?? '')).toEqual(good(says(record)));
    expect(await does(lines, PRINTED[11] ?? '')).toEqual(
      good(says(/^=== agent ===\nRalph Loop: agent\nStatus: running\n/)),
    );
    const follows = types('swarm logs <name> --follow', AT);
    await follows.until('half of it', 'stdout');
    expect(await does(lines, 'swarm ralph pause agent')).toEqual(good('paused ralph loop for agent\n'));
    stage.release();
    // `swarm spawn` ends with the loop.
    expect(await spawn.ended).toMatchObject({ code: 0, stderr: says(/ agent: paused, exiting loop$/m) });
    expect(await does(lines, 'swarm ralph status agent')).toEqual(good(says(/^Status: paused$/m)));
    expect(await does(lines, 'swarm ralph resume agent')).toEqual(good('resumed ralph loop for agent\n'));
    await stage.waitForCall(2);
    const log = '.ralph/loops/agent/iterations.log';
    await stage.until('iteration 2 in the log', () => stage.read(log).includes('[START] iteration 2/10'));
    expect(await does(lines, 'tail -f ~/.swarm/ralph/<name>/iterations.log')).toEqual(
      good(
        says(
          /\[START\] iteration 1\/10\n[^]*\[END\] iteration 1 exit=0 duration=\ds\n[^]*\[START\] iteration 2\/10\n/,
        ),
      ),
    );
    expect(await does(lines, 'swarm kill <name>')).toEqual(good('killed agent\n'));
    expect((await follows.ended).code).toBe(0);
    expect(await does(lines, 'swarm ralph status <name>')).toEqual(good(says(/^Status: stopped$/m)));
  });

  it('S4.32 S4.42 S4.80 the recovery procedures do as document 003 says', async () => {
    const lines = openLines('swarm');
    const { stage, types } = lines;
    await does(lines, 'swarm ralph init');
    stage.plans('default', waitFor('never'));
    const spawn = types(SPAWN, AT);
    await stage.waitForCall(1);
    await spawn.until('starting iteration 1/10');
    expect(await does(lines, 'swarm ralph pause <name>')).toEqual(good('paused ralph loop for agent\n'));
    expect(await does(lines, 'swarm ralph resume <name>')).toEqual(good('resumed ralph loop for agent\n'));
    expect(await does(lines, 'swarm ralph pause <name>')).toEqual(good('paused ralph loop for agent\n'));
    expect(await does(lines, 'swarm kill <name>')).toEqual(good('killed agent\n'));
    expect((await spawn.ended).code).toBe(130);
    const again = types(
      'swarm spawn --name <name> --ralph --prompt-file ./PROMPT.md --max-iterations 200 -- claude',
      AT,
    );
    await again.until('[ralph mode: iteration 1/200]', 'stdout');
    expect(again.stdout).toMatch(spawned(200));
    expect(again.stderr).toMatch(
      /^ralph: warning: high iteration count \(>50\) may consume significant resources$/m,
    );
    await stage.waitForCall(2);
    await does(lines, 'swarm kill <name>');
    await again.ended;
    for (const line of ['rm -rf ~/.swarm/ralph/<name>/', 'rm -rf ~/.swarm/ralph/'])
      // oxlint-disable-next-line no-await-in-loop -- one after the other, as a person types
      expect(await does(lines, line)).toEqual(good(''));
  });

  it('S4.33 S4.68 S4.69 the lines about notifications say how the loop ended', async () => {
    const lines = openLines('swarm');
    const { stage, types, notified } = lines;
    const wrapped = PRINTED[12] ?? '';
    expect((await does(lines, wrapped)).code).toBe(0);
    expect(notified()).toEqual(['Ralph failed']);
    expect(
      await does(lines, 'swarm spawn --ralph --prompt-file ./missing.md --max-iterations 10 -- claude'),
    ).toEqual({
      code: 1,
      stdout: '',
      stderr: 'ralph: error: prompt file not found: ./missing.md\n',
    });
    await does(lines, 'swarm ralph init');
    stage.plans(1, `${waitFor()}; exit 1`);
    stage.plans(2, claudeAnswers('all of it'));
    const spawn = types(wrapped, AT);
    await stage.waitForCall(1);
    await spawn.until('starting iteration 1/100');
    expect(await does(lines, 'vim ~/.swarm/ralph/<name>/state.json')).toEqual(good(''));
    stage.release();
    expect((await spawn.ended).code).toBe(0);
    expect(notified()).toEqual(['Ralph failed', 'Ralph complete']);
    expect(stage.calls).toBe(2);
    expect((await does(lines, PRINTED[13] ?? '')).code).toBe(0);
    expect(notified().slice(2)).toEqual([
      says(/^Ralph: .* \[FAIL\] iteration 1 exit=1 attempt=1\/5 backoff=1s$/),
      says(/^Ralph: .* \[DONE\] loop complete after 2 iterations reason=max_iterations$/),
    ]);
  });

  describe('with a window', () => {
    let terminals: Terminals;
    beforeAll(() => {
      terminals = new Terminals();
    });
    afterAll(() => terminals.close());

    it('S4.63 swarm attach shows it until the user detaches', { tags: ['tmux'] }, async () => {
      const lines = openLines('swarm');
      const { stage, types } = lines;
      await does(lines, 'swarm ralph init');
      stage.plans(1, `${claudeSays('half of it\n')}\n${waitFor('never')}`);
      const spawn = types(SPAWN, AT);
      await stage.waitForCall(1);
      await spawn.until('half of it', 'stdout');
      const terminal = terminals.open(
        ['env', '-u', 'TMUX', '-u', 'TMUX_PANE', 'sh', '-c', 'alias swarm=ralph\nswarm attach agent'],
        { cwd: stage.workspace, env: stage.env },
      );
      await terminal.shows('half of it');
      terminal.presses('C-b');
      terminal.presses('d');
      expect((await terminal.ends()).code).toBe(0);
      await does(lines, 'swarm kill <name>');
      await spawn.ended;
    });
  });

  it('every line of document 003 was typed', () => {
    // This one is typed in a terminal.
    const typed = new Set([...TYPED, 'swarm attach <name>']);
    expect(PRINTED.filter((line) => !typed.has(line))).toEqual([]);
  });
});
