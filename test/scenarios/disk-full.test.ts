/** The workspace, and mostly the state, is a small file system in a mount namespace that disappears with its last process. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';
import type { Ended } from './ralph.ts';

/** Ralph notes the start of an agent while that begins to work. */
const untilNoted =
  'n=0; until grep -qs run.started "$XDG_STATE_HOME"/ralph/loops/*/journal.jsonl || [ $n -ge 50 ]; do n=$((n+1)); sleep 0.01; done';
const fillDisk = `${untilNoted}; head -c 100m /dev/zero > big 2>/dev/null`;

describe('a full disk', { tags: ['unshare'] }, () => {
  it('ends the loop with exit code 3 and one reason, and resume works once there is space (T149)', async () => {
    const stage = openLoadedStage();
    // The journal has to be at the beginning of a block, so that the events of the end still fit into it.
    const padding = await paddingTo(200, stage);
    stage.plans(2, `${fillDisk}; exit 0`);
    stage.plans(3, "echo '<promise>DONE</promise>'");
    const { stdout, stderr } = await onSmallDisk(stage, [
      `$RALPH run -p work -m 2 --name it --check 'true #${padding}' -- "$AGENT"; echo "run $?"`,
      '$RALPH status it; echo "status $?"',
      'rm big',
      '$RALPH resume it; echo "resume $?"',
      'cp .ralph/loops/it/state.json "$FAKE_PLAN/state.json"',
    ]);
    expect(stdout).toContain('run 3\n');
    expect(noSpace(stderr)).toEqual([expect.stringContaining('/')]);
    expect(stdout).toContain('Status: fatal\n');
    expect(stdout).toMatch(/^Reason: .*no space.*$/m);
    expect(stdout).toContain('status 1\n');
    expect(stdout).toContain('resume 0\n');
    expect(stage.calls).toBe(3);
    expect(JSON.parse(readFileSync(`${stage.plan}/state.json`, 'utf8'))).toMatchObject({
      outcome: { type: 'done' },
      current_iteration: 2,
    });
  });

  it('that stops the journal ends the loop with exit code 3, no orphans and an intact journal (T149)', async () => {
    const stage = openLoadedStage();
    // The disk allocates whole blocks, so the journal must be near the end of one when the agent fills the rest.
    const padding = await paddingTo(BLOCK - 100, stage);
    stage.plans(2, `sleep 300 & ${fillDisk}; exit 0`);
    stage.plans(3, "echo '<promise>DONE</promise>'");
    const { stdout, stderr } = await onSmallDisk(stage, [
      `$RALPH run -p work -m 2 --name it --check 'true #${padding}' -- "$AGENT"; echo "run $?"`,
      'rm big',
      '$RALPH status it; echo "status $?"',
      '$RALPH resume it; echo "resume $?"',
    ]);
    expect(stdout).toContain('run 3\n');
    expect(stderr).toMatch(
      /^ralph: error: cannot write .*\/journal\.jsonl: .*; the journal is intact up to here$/m,
    );
    expect(stderr).toContain('resume with: ralph resume it\n');
    expect(stdout).toContain('Status: crashed\n');
    expect(stdout).toContain('resume 0\n');
    expect(stage.calls).toBe(3);
  });

  it('is no failure of the agent: its run is not charged and repeated', async () => {
    const stage = openLoadedStage();
    stage.plans(1, `${fillDisk}; exit 1`);
    stage.plans(2, "echo '<promise>DONE</promise>'");
    const lines = [
      `$RALPH run -p work -m 1 --name it --max-failures 1 -- "$AGENT"; echo "run $?"`,
      'rm big',
      '$RALPH resume it; echo "resume $?"',
      'cp .ralph/loops/it/state.json "$FAKE_PLAN/state.json"',
    ];
    const { stdout, stderr } = await onSmallDisk(stage, lines, { hasState: false });
    expect(stdout).toContain('run 3\n');
    expect(noSpace(stderr)).toEqual([expect.stringContaining(stage.workspace)]);
    expect(stdout).toContain('resume 0\n');
    expect(stage.calls).toBe(2);
    expect(JSON.parse(readFileSync(`${stage.plan}/state.json`, 'utf8'))).toMatchObject({
      outcome: { type: 'done' },
      current_iteration: 1,
      total_failures: 0,
    });
  });

  it('is no failure of a check: one that passes counts, one that fails ends the loop and is repeated', async () => {
    const stage = openLoadedStage();
    const checks = [`${fillDisk}; echo lost; rm big; : pass`, `[ -e ok ] || { ${fillDisk}; exit 1; }`];
    const flags = checks.flatMap((check) => ['--check', check]);
    const padding = await paddingTo(200, stage, flags);
    stage.plans(2, "echo '<promise>DONE</promise>'");
    const quoted = checks.map((check) => `--check '${check}'`).join(' ');
    const { stdout, stderr } = await onSmallDisk(stage, [
      `$RALPH run -p work -m 1 --name it ${quoted} --check 'true #${padding}' -- "$AGENT"; echo "run $?"`,
      'rm big; touch ok',
      '$RALPH resume it; echo "resume $?"',
    ]);
    expect(stdout).toContain('run 3\n');
    expect(noSpace(stderr)).toEqual([expect.stringContaining('/state/ralph/loops/it-')]);
    expect(stderr).not.toContain('check failed');
    expect(stdout).toContain('resume 0\n');
    expect(stage.calls).toBe(2);
  });

  it.each([
    // The file fits, and its copy in the repository does not.
    ['that git notices when it stages files', '120k', ''],
    // The agent is asked for the commit message after everything is staged.
    ['that git notices when it commits', '4k', 'head -c 400k /dev/zero >>big 2>/dev/null; '],
  ])('%s ends the loop with exit code 3, and resume makes the commit', async (_, size, fill) => {
    const stage = openLoadedStage();
    const scm = { command: 'git -c user.name=t -c user.email=t@t', tasks: ['commit'] };
    writeFileSync(`${stage.plan}/settings.json`, JSON.stringify({ scm }));
    stage.plans(1, `head -c ${size} /dev/urandom >made; echo '<promise>DONE</promise>'`);
    stage.plans(2, `${fill}echo "Make it"`);
    stage.plans('default', 'echo "Make it"');
    const { stdout, stderr } = await onSmallDisk(
      stage,
      [
        'rm .git/hooks/*; printf "big\\n.ralph\\n" >.git/info/exclude; head -c 150k /dev/zero >big',
        'git -c user.name=t -c user.email=t@t commit -q --allow-empty -m begin',
        'mkdir .ralph; cp "$FAKE_PLAN/settings.json" .ralph/',
        `$RALPH run -p work -m 1 --name it --check true -- "$AGENT"; echo "run $?"`,
        '$RALPH status it',
        'rm big',
        '$RALPH resume it; echo "resume $?"',
        'git log --format=%s; git status --porcelain',
      ],
      { hasState: false },
    );
    expect(stdout).toContain('run 3\n');
    expect(noSpace(stderr)).toEqual([expect.stringContaining(stage.workspace)]);
    expect(stdout).toContain('Status: fatal\n');
    expect(stdout).toContain('resume 0\n');
    expect(stdout).toMatch(/\nMake it\nbegin\n$/);
    const types = stage.journal.map(({ type }) => type);
    const found = types.slice(0, types.indexOf('loop.ended')).includes('changes.found');
    expect({ isStaged: found, commits: types.filter((type) => type === 'commit.made') }).toEqual({
      isStaged: fill !== '',
      commits: ['commit.made'],
    });
  });

  it('keeps a loop from starting, and leaves nothing in its way later (T149)', async () => {
    const stage = openLoadedStage();
    const { stdout, stderr } = await onSmallDisk(stage, [
      fillDisk,
      '$RALPH run -p work --name it -- "$AGENT"; echo "run $?"',
      'rm big',
      '$RALPH run -p work --name it -m 1 -- "$AGENT"; echo "again $?"',
    ]);
    expect(noSpace(stderr)).toEqual([expect.stringContaining('/')]);
    expect(stdout).toContain('run 3\n');
    expect(stdout).toContain('again 1\n');
    expect(stage.calls).toBe(1);
  });

  it('S2.25 makes init report the error and leave no partial file', async () => {
    const stage = openLoadedStage();
    const { stdout, stderr } = await onSmallDisk(stage, [
      fillDisk,
      '$RALPH init --yes; echo "init $?"',
      'ls -A .ralph; echo "that was all"',
    ]);
    expect(stderr).toContain('ralph: error: cannot write .ralph/settings.json: no space left on the disk\n');
    expect(stdout).toMatch(/init 3\n(?:\.gitignore\n)?that was all\n/);
  });
});

it('a full disk that git reports while it commits ends the loop, also if there is space again by then', async () => {
  const stage = openLoadedStage();
  // As git prints it, followed by what a hook might print, which does not count.
  const script = [
    '#!/bin/sh',
    'case " $* " in *" --cleanup=whitespace "*)',
    '  [ -e "$FAKE_PLAN/hook" ] && echo "hook: No space left on device" >&2 && exit 1',
    '  [ -e "$FAKE_PLAN/short" ] && echo "fatal: sha1 file \'.git/index.lock\' write error. Out of diskspace" >&2 && exit 128',
    '  [ -e "$FAKE_PLAN/full" ] && echo "error: unable to write file x: No space left on device" >&2 && exit 128',
    'esac',
    'exec git "$@"',
    '',
  ];
  const command = join(stage.plan, 'git');
  writeFileSync(command, script.join('\n'), { mode: 0o755 });
  stage.identifies();
  stage.settings({ scm: { command, tasks: ['commit'] } });
  stage.plans('default', 'echo "$RALPH_ITERATION" >made; echo Made');
  stage.release('hook');
  expect((await stage.run('-p', 'work', '-m', '1', '--check', 'true')).code).toBe(1);
  rmSync(join(stage.plan, 'hook'));
  stage.release('full');
  const { code, stderr } = await stage.ralph('resume', 'it', '-m', '2').ended;
  expect(code).toBe(3);
  expect(stderr).toContain(`ralph: error: cannot write ${stage.workspace}: no space left on the disk\n`);
  expect(stage.git('log', '--format=%s')).toBe('begin\n');
  rmSync(join(stage.plan, 'full'));
  stage.release('short');
  expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(3);
  rmSync(join(stage.plan, 'short'));
  expect((await stage.ralph('resume', 'it').ended).code).toBe(1);
  expect(stage.git('log', '--format=%s')).toBe('Made\nbegin\n');
  expect(stage.git('status', '--porcelain', '--untracked-files=no')).toBe('');
});

/** The paths that the errors about a full disk name. */
function noSpace(stderr: string): readonly string[] {
  const lines = stderr.match(/^ralph: error: .*no space.*$/gm) ?? [];
  return lines.map(
    (line) => /^ralph: error: cannot write (.*): no space left on the disk/.exec(line)?.[1] ?? line,
  );
}

const BLOCK = 4096;

/** A text that, as a part of a check, puts the end of the journal at this offset of a block while the first agent runs. */
async function paddingTo(offset: number, stage: Stage, checks: readonly string[] = []): Promise<string> {
  const measure = 'cat "$XDG_STATE_HOME"/ralph/loops/*/journal.jsonl | wc -c > "$FAKE_PLAN/size"';
  stage.plans(1, `${untilNoted}; ${measure}`);
  await stage.run('-p', 'work', '-m', '1', ...checks, '--check', 'true #');
  const size = Number(readFileSync(`${stage.plan}/size`, 'utf8'));
  return 'x'.repeat((BLOCK + offset - (size % BLOCK)) % BLOCK);
}

/** Runs lines of shell in a workspace that is its own small file system; with `hasState` the state is there too. */
function onSmallDisk(
  stage: Stage,
  lines: readonly string[],
  { hasState = true }: { readonly hasState?: boolean } = {},
): Promise<Ended> {
  const script = [
    'mount -t tmpfs -o size=400k none "$PLACE"',
    'cd "$PLACE"',
    'git init --quiet',
    ...(hasState ? ['mkdir .git/state', 'mount --bind .git/state "$XDG_STATE_HOME"'] : []),
    ...lines,
  ].join('\n');
  const env = { PLACE: stage.workspace, AGENT: stage.agent, SCRIPT: script };
  return stage.shell('exec unshare --user --map-root-user --mount sh -c "$SCRIPT"', env).ended;
}
