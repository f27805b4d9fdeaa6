/** What an agent can do with Ralph's commands from inside its own run. */
import { existsSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

/** An agent runs many commands one after the other. */
const SLOW = { timeout: 90_000 };

/** Shell functions that run a command in several ways and record its exit code and output. */
const TRY = `
try() { name=$1; shift; "$@" >"$FAKE_CALL/$name.out" 2>&1; echo "$name $?" >>"$FAKE_CALL/codes"; }
bare() { env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" RALPH_SCENARIO="$RALPH_SCENARIO" FAKE_PLAN="$FAKE_PLAN" $RALPH "$@"; }
other=$(ls -d "$XDG_STATE_HOME"/ralph/loops/other-*)
forged() { RALPH_RUN_ID="\${other##*/}.1" $RALPH "$@"; }
`;

const LIBRARY = `
import { resumeLoop } from "${new URL('../../dist/index.js', import.meta.url).href}";
await resumeLoop("other").catch((error) => { console.log(error.message); process.exit(error.exitCode); });
`;

const codes = (stage: Stage, call: number): Readonly<Record<string, number>> =>
  Object.fromEntries(
    stage
      .given(call, 'codes')
      .trim()
      .split('\n')
      .map((line) => [line.split(' ')[0] ?? '', Number(line.split(' ')[1])]),
  );

/** Runs a loop `it` whose agent runs these lines in its only iteration, after another loop has ended. */
async function agentDoes(stage: Stage, lines: string): Promise<Readonly<Record<string, number>>> {
  await stage.ralph('run', '-p', 'x', '--name', 'other', '-m', '1', '--', stage.agent).ended;
  stage.plans(2, TRY + lines);
  const { code, stderr } = await stage.shell(`$RALPH run -p x --name it -m 1 -- '${stage.agent}'`).ended;
  expect({ code, stderr }).toMatchObject({ code: 1 });
  return codes(stage, 2);
}

describe('an agent', () => {
  it(
    'cannot change its own loop, another loop, settings or worktrees, and can look and talk',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      const found = await agentDoes(
        stage,
        `
try set $RALPH set it max-iterations=99
try stop $RALPH stop it
try resume $RALPH resume other -m 9
try rm $RALPH rm other
try init $RALPH init --yes
try replace $RALPH run -p y --name other -m 1 -- true
try daemon $RALPH daemon stop
try library node --input-type=module -e '${LIBRARY}'
try bare-rm bare rm other
try forged forged set other max-iterations=99
try gone $RALPH rm --gone
try follow $RALPH logs it --follow
try status $RALPH status it
try logs $RALPH logs it
try diff $RALPH diff it
try tell $RALPH tell it "a word"
try bare-tell bare tell it "another"
try own-follow $RALPH logs --follow
try any-stop $RALPH stop
try any-wait $RALPH wait
try any-tell $RALPH tell "to which loop"
try own-logs $RALPH logs
try own-story $RALPH story
try own-diff $RALPH diff`,
      );
      const refused =
        'set stop resume rm init replace daemon library bare-rm forged gone follow own-follow any-stop any-wait any-tell';
      const free = 'status logs diff tell bare-tell own-logs own-story own-diff';
      expect(found).toEqual({
        ...Object.fromEntries(refused.split(' ').map((name) => [name, 2])),
        ...Object.fromEntries(free.split(' ').map((name) => [name, 0])),
      });
      expect(stage.given(2, 'set.out')).toBe(
        'ralph: error: "ralph set it" is refused inside a run: "it" is the loop of this run, and an agent can change only child loops that its loop has started\n' +
          'Continue with the task. If the change is needed, say so in your answer: a person can run the command.\n',
      );
      expect(stage.given(2, 'bare-rm.out')).toContain('"other" is not a child loop of "it"');
      expect(stage.given(2, 'init.out')).toContain('"ralph init" is refused inside a run');
      expect(stage.given(2, 'replace.out')).toContain(
        'would replace the loop "other", which this run has not started',
      );
      expect(stage.given(2, 'follow.out')).toContain('would wait for "it", which waits for this run');
      expect(stage.given(2, 'own-follow.out')).toContain('would wait for "it", which waits for this run');
      expect(stage.given(2, 'any-wait.out')).toBe(
        'ralph: error: inside a run, ralph wait needs the name of a loop\n',
      );
      expect(stage.given(2, 'library.out')).toContain('"resumeLoop("other")" is refused inside a run');
      // Nothing has changed: neither a limit, nor a file, nor the other loop.
      expect(stage.journal.filter(({ type }) => type === 'control.received')).toHaveLength(2);
      expect(existsSync(stage.path('.ralph/settings.json'))).toBe(false);
      expect((await stage.ralph('status', 'other').ended).stdout).toContain('Iteration: 1/1');
    },
  );

  it('can start, change and remove child loops and those that they have started', SLOW, async () => {
    const stage = openLoadedStage();
    const child = (name: string): string => `$RALPH run -p y --name ${name} -m 1 -- "${stage.agent}"`;
    // The third call is the child's agent, the fourth one its own child's.
    stage.plans(
      3,
      `${TRY}try start ${child('grandchild')}\ntry parent $RALPH set it max-iterations=9\ntry wait $RALPH logs it -f`,
    );
    const found = await agentDoes(
      stage,
      `
try start ${child('child')}
try resume $RALPH resume child -m 2
try rm $RALPH rm grandchild
try again $RALPH run -p z --name child --fresh -m 1 -- true
try bare-rm bare rm child
try bare-start bare run -p y --name bare-child -m 1 -- true
try bare-child $RALPH rm bare-child`,
    );
    expect(found).toEqual({
      start: 1,
      resume: 1,
      again: 1,
      rm: 0,
      'bare-rm': 0,
      'bare-start': 1,
      'bare-child': 0,
    });
    expect(codes(stage, 3)).toEqual({ start: 1, parent: 2, wait: 2 });
    expect([...stage.loops].toSorted()).toEqual(['it', 'other']);
  });

  it('of another state folder does not count: a project may test Ralph under Ralph', SLOW, async () => {
    const stage = openLoadedStage();
    const found = await agentDoes(
      stage,
      `
mkdir "$FAKE_CALL/tree" "$FAKE_CALL/state"
ln -s "$XDG_STATE_HOME" "$FAKE_CALL/link"
outer=$PWD
cd "$FAKE_CALL/tree"
export XDG_STATE_HOME="$FAKE_CALL/state"
try start $RALPH run -p y --name inner -m 1 -- true
try orphan grep '"parent": null' "$XDG_STATE_HOME"/ralph/loops/inner-*/spec.json
try rm $RALPH rm inner
try outer env XDG_STATE_HOME="$FAKE_CALL/link" $RALPH set it max-iterations=9 --cwd "$outer"`,
    );
    // It is no child of the outer loop, and a link to the outer state is no other state.
    expect(found).toEqual({ start: 1, orphan: 0, rm: 0, outer: 2 });
    expect(stage.given(2, 'outer.out')).toContain('is refused inside a run');
  });
});
