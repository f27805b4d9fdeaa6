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
  expect(said('run')).toMatch(/^started two in the background\nRalph Loop: two\nStatus: done\n.*exit 0\n$/s);
  expect(said('none')).toContain('inside a sandbox a child loop has the agent of its parent (custom)');
  expect(said('cwd')).toContain("Unknown option '--cwd'");
  expect(said('replace')).toContain('would replace the loop "other", which this run has not started');
  expect(said('own')).toContain('Child: one: stopped');
  expect(said('own')).toContain('Child: two: done');
  // Neither the agents of the children nor their checks can do more than the one that started them.
  expect(existsSync(outside)).toBe(false);
  expect(stage.journalOf('one')[0]).toMatchObject({ policy: { sandbox: { checks: true } } });
  const ends = stage.journal.filter(({ type }) => type === 'child.ended');
  expect(ends.map(({ outcome }) => outcome)).toMatchObject([{ type: 'stopped' }, { type: 'done' }]);
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
    all.match(/this loop \("it"\) already has 2 active children \(\w+, \w+\): .*\nexit 2/g),
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
