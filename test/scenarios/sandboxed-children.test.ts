/**
 * Child loops that an agent in a sandbox starts: its owner starts them, with no more rights than the agent has.
 *
 * @module-tag bwrap
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { onDisk } from '../rig/temporary-folder.ts';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

/** Several loops at the same time, each in a sandbox. */
const SLOW = { timeout: 120_000 };

function sandboxed(): Stage {
  const stage = openLoadedStage({ parent: onDisk() });
  const path = join(stage.env['HOME'] ?? '', '.config/ralph/settings.json');
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, JSON.stringify({ sandbox: { write: [stage.plan, dirname(stage.agent)] } }));
  return stage;
}

/** Shell functions that run `ralph` and record its output and exit code. */
const tries = (stage: Stage, lines: string): string =>
  `r() { name=$1; shift; ${process.execPath} ${stage.main} "$@" >"$FAKE_CALL/$name" 2>&1; echo "exit $?" >>"$FAKE_CALL/$name"; }\n${lines}`;

it('S1.23 starts a child through its owner, waits for it and sees its end', SLOW, async () => {
  const stage = sandboxed();
  const outside = join(stage.env['HOME'] ?? '', 'outside');
  stage.plans(
    1,
    tries(
      stage,
      `r spawn spawn --name one -m 1 --check 'touch ${outside}' "the first" -- '${stage.agent}'
# It counts its calls.
while [ ! -e "$FAKE_PLAN/calls/2/stdin" ]; do sleep 0.01; done
r status status one
r stop stop one --now
r wait wait one
r report report one
r night report
r other report other
r run run --name two -m 1 "the second"
r none run --name three "x" -- /bin/true
r cwd run --cwd / "x"
r replace run --name other "x"
# The owner learns of the end of a child within a second.
i=0; while r own status; ! grep -q 'Child: two: done' "$FAKE_CALL/own" && [ $i -lt 50 ]; do i=$((i+1)); sleep 0.1; done`,
    ),
  );
  stage.plans(2, `touch '${outside}'; ${waitFor()}`);
  stage.plans(3, `touch '${outside}'; echo "<promise>DONE</promise>"`);
  await stage.ralph('run', '--name', 'other', '--no-sandbox', '-m', '1', 'x', '--', 'true').ended;
  const { code, stderr } = await stage.run('-p', 'x', '-m', '1');
  expect({ code, stderr }).toMatchObject({ code: 1 });
  const said = (name: string): string => stage.given(1, name);
  expect(said('spawn')).toBe('started one in the background\nexit 0\n');
  expect(said('status')).toContain('Ralph Loop: one\nStatus: running');
  expect(said('stop')).toBe('stopping one now\nexit 0\n');
  expect(said('wait')).toBe('one: exited\nexit 0\n');
  expect(said('report')).toMatch(/^ralph: one \S+\n {2}task {8}the first\n.*exit 0\n$/s);
  expect(said('night')).toMatch(/^2 loops since .*ralph: it running\n.*exit 0\n$/s);
  expect(said('other')).toContain('a sandbox has only its own loop');
  expect(said('run')).toMatch(/^started two in the background\nRalph Loop: two\nStatus: done\n.*exit 0\n$/s);
  expect(said('none')).toContain('inside a sandbox a child loop has the agent of its parent (custom)');
  expect(said('cwd')).toMatch(/--cwd does not work inside a sandbox: .*\nexit 2\n$/);
  expect(said('replace')).toContain('would replace the loop "other", which this run has not started');
  expect(said('own')).toContain('Child: one: stopped');
  expect(said('own')).toContain('Child: two: done');
  // Neither the agents of the children nor their checks can do more than the one that started them.
  expect(existsSync(outside)).toBe(false);
  expect(stage.journalOf('one')[0]).toMatchObject({ policy: { sandbox: { checks: true } } });
  const ends = stage.journal.filter(({ type }) => type === 'child.ended');
  expect(ends.map(({ outcome }) => outcome)).toMatchObject([{ type: 'stopped' }, { type: 'done' }]);
});

it(
  'reads the command line of a child as outside, and names the options that a child cannot have',
  SLOW,
  async () => {
    const stage = sandboxed();
    stage.plans(
      1,
      tries(
        stage,
        `echo "from a file" >task.md
r file run -f task.md --name one -m 1 --preset promise --json
echo "from a pipe" | r pipe run -f - --name two -m 1 --timestamps --quiet
r loop loop "from the line" --name three -m 1 --check true
r detached run "in the background" --name four -m 1 -d --json
r terms run x --model m --no-sandbox --max-failures 3 --fresh --no-child --trust
r spec loop --spec task.md
r window spawn x --name five -m 1 --session other
r report run x --report json
r typo run x --max-iteration 3
r value run x --max-time soon
r none run
r spawn spawn x -m 1
r all wait --all
r pause pause one
r help run --help
r wait wait four`,
      ),
    );
    stage.plans('default', 'echo "<promise>DONE</promise>"');
    const { code, stderr } = await stage.run('-p', 'x', '-m', '1');
    expect({ code, stderr }).toMatchObject({ code: 1 });
    const said = (name: string): string => stage.given(1, name);
    expect(said('file')).toMatch(/^started one in the background\n\{.*"status":"done".*\}\nexit 0\n$/);
    expect(stage.given(2, 'stdin')).toContain('from a file');
    expect(stage.journalOf('one')[0]).toMatchObject({ policy: { preset: 'promise' } });
    expect(said('pipe')).toMatch(/^Ralph Loop: two\nStatus: done\n.*exit 0\n$/s);
    expect(stage.given(3, 'stdin')).toContain('from a pipe');
    expect(said('loop')).toContain('Ralph Loop: three\nStatus: ');
    expect(stage.journalOf('three')[0]).toMatchObject({
      policy: { preset: 'architect', checks: { commands: [{ command: 'true' }] } },
    });
    expect(said('detached')).toMatch(/^\{\n.*"name": "four".*\}\nexit 0\n$/s);
    expect(said('terms')).toContain(
      'error: --model, --no-sandbox, --max-failures, --no-child, --fresh, --trust do not work inside a sandbox: a child loop has the agent, the environment and the folder of its parent. Drop them; ',
    );
    expect(said('spec')).toMatch(/--spec does not work inside a sandbox: .*\nexit 2\n$/);
    expect(said('window')).toMatch(
      /--session or --tmux-socket does not work inside a sandbox: .*\nexit 1\n$/,
    );
    expect(said('report')).toMatch(/--report does not work inside a sandbox: .*\nexit 2\n$/);
    expect(said('typo')).toContain("unknown option '--max-iteration'");
    expect(said('value')).toContain('--max-time must be a time such as 90, 90s, 15m or 2h, got "soon"');
    expect(said('none')).toMatch(/must specify prompt .*\nexit 2\n$/s);
    expect(said('spawn')).toMatch(/--name is required: .*\nexit 1\n$/);
    expect(said('all')).toMatch(/^(?:four: .*|no running loops in this workspace)\nexit 0\n$/);
    expect(said('pause')).toContain('ralph pause does not work inside a sandbox; only ralph run,');
    expect(said('help')).toContain('--max-iterations');
    expect(said('wait')).toMatch(/^four: .*\nexit 0\n$/);
  },
);

it('shows its own loop and its children, and no other loop', SLOW, async () => {
  const stage = sandboxed();
  stage.plans(
    1,
    tries(
      stage,
      `echo "said by the parent"
r start run "a part" --name one -m 1
r ls ls
r all ls --all --tree
r names ls --all --format names
r status status --status running
# The owner looks for what has become of its children once a second.
until r own story it; grep -q 'child loop ended' "$FAKE_CALL/own"; do sleep 0.1; done
r story story one
r json story one --json
r log logs one
r follow logs one -f
r raw logs it --raw
r itself logs it --follow
r self logs self -f
r other story other
r lines logs other
r waits wait --all`,
    ),
  );
  stage.plans(2, 'echo x >made; echo "said by the child"; echo "<promise>DONE</promise>"');
  await stage.ralph('run', '--name', 'other', '--no-sandbox', '-m', '1', 'x', '--', 'true').ended;
  const { code, stderr } = await stage.run('-p', 'x', '-m', '1');
  expect({ code, stderr }).toMatchObject({ code: 1 });
  const said = (name: string): string => stage.given(1, name);
  expect(said('ls')).toMatch(/^NAME .*\nit +running .*\none +done .*\nexit 0\n$/);
  expect(said('all')).toMatch(/^NAME .*\n\/.*:\nit +running .*\n\W*one +done .*\nexit 0\n$/);
  expect(said('names')).toBe('it\none\nexit 0\n');
  expect(said('status')).toMatch(/^NAME .*\nit +running .*\nexit 0\n$/);
  expect(said('own')).toContain('child loop ended: one (done)\n');
  expect(said('story')).toMatch(/done.*\n\S+ +in all: .*1 changed file.*\nexit 0\n$/s);
  expect(said('json')).toMatch(/^\{"at":".*\nexit 0\n$/s);
  expect(said('log')).toBe('said by the child\n<promise>DONE</promise>\nexit 0\n');
  expect(said('follow')).toBe(said('log'));
  expect(said('raw')).toBe('said by the parent\nexit 0\n');
  expect(said('itself')).toBe(
    'ralph: error: "ralph logs it" would wait for "it", which waits for this run\nLook at its present state instead: ralph logs it\nexit 2\n',
  );
  expect(said('self')).toMatch(/"ralph logs self" would wait for "self"/);
  const refused =
    'a sandbox has only its own loop, "it", and the child loops that it has started; got "other"';
  expect(said('other')).toContain(refused);
  expect(said('lines')).toContain(refused);
  expect(said('waits')).toBe('no running loops in this workspace\nexit 0\n');
});

it('has the limits of child loops, counted by its owner', SLOW, async () => {
  const stage = sandboxed();
  stage.settings({ children: { maxDepth: 1, maxActive: 2 } });
  stage.plans(
    1,
    tries(
      stage,
      `r one spawn --name one -m 1 x &
r two spawn --name two -m 1 x &
r three spawn --name three -m 1 x &
wait
cat "$FAKE_CALL/one" "$FAKE_CALL/two" "$FAKE_CALL/three" >"$FAKE_CALL/all"`,
    ),
  );
  stage.plans('default', `${tries(stage, 'r below run x')}\n${waitFor()}`);
  expect((await stage.run('-p', 'x', '-m', '1')).code).toBe(1);
  const all = stage.given(1, 'all');
  expect(all.match(/started \w+ in the background\nexit 0/g)).toHaveLength(2);
  expect(
    all.match(/this loop \("it"\) already has 2 active children \(\w+, \w+\): .*\nexit 1/g),
  ).toHaveLength(1);
  await stage.waitForCall(2, 'below');
  stage.release();
  await stage.ralph('wait', '--all').ended;
  expect(stage.given(2, 'below')).toContain(
    'is 1 generation below the first loop and may start no child loops',
  );
});

it('has a share of the budget of its family, and at most the limits of its parent', SLOW, async () => {
  const stage = sandboxed();
  const tokens = '{"input":10,"output":5,"cacheRead":0,"cacheWrite":0}';
  const uses = `echo '{"type":"result","ok":true,"text":"more","costUsd":0.5,"tokens":${tokens}}'`;
  stage.plans(
    1,
    tries(
      stage,
      `r one run --name one -m 9 --max-cost 0.5 --max-tokens 99999 x
r two run --name two -m 9 --max-cost 1000 x`,
    ) + `\n${uses}`,
  );
  stage.plans('default', uses);
  const agent = ['--agent', 'scripted', '--', stage.agent];
  const args = ['run', '--name', 'it', '-p', 'x', '-m', '1', '--max-cost', '2', '--max-tokens', '5000'];
  const { code, stderr } = await stage.ralph(...args, ...agent).ended;
  expect({ code, stderr }).toMatchObject({ code: 1 });
  // The limit of the family ends the parent, too, perhaps a moment earlier.
  await stage.ralph('wait', 'two').ended;
  const first = stage.journalOf('one')[0];
  expect(first).toMatchObject({ policy: { limits: { costUsd: 0.5, tokens: 5000 } } });
  expect(stage.journalOf('one').at(-1)?.['outcome']).toEqual({
    type: 'cost-exhausted',
    limitUsd: 0.5,
    spentUsd: 0.5,
  });
  expect(stage.journalOf('two')[0]).toMatchObject({ policy: { limits: { costUsd: 2 } } });
  // The limit ends both at the same time.
  await stage.until('the end of two', () => stage.journalOf('two').at(-1)?.type === 'loop.ended');
  expect(stage.journalOf('two').at(-1)?.['outcome']).toMatchObject({
    type: 'cost-exhausted',
    limitUsd: 2,
    spentUsd: 2,
    family: { name: 'it' },
  });
});

it('S1.36 S1.54 ends with its run if it is a process that the agent has registered', SLOW, async () => {
  const stage = sandboxed();
  const fixture = new URL('../fixtures/registers-child.mjs', import.meta.url).pathname;
  const child = `${waitFor('never')}; : > "$FAKE_PLAN/ended"`;
  stage.plans(1, `"${process.execPath}" "${fixture}" kid '${child}'; : > "$TASK_FOLDER/DONE"`);
  const { code, stderr } = await stage.run('-p', 'work', '--preset', 'conductor', '--kill-grace', '1s');
  expect({ code, running: stage.running }).toEqual({ code: 0, running: [] });
  expect(stderr).not.toContain('waiting for');
  expect(readFileSync(stage.path('.ralph/loops/it/runs/kid/run-info.yaml'), 'utf8')).toContain(
    'status: failed',
  );
});
