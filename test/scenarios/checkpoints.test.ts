import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, gitState, openDirty, records, ref, status, writeFiles } from './checkpoint-stage.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const architect = ['-p', 'build it', '--preset', 'architect', '--check', 'false'];

/** Runs a shell line before every git command. */
function wrapGit(stage: Stage, line: string): void {
  const bin = join(stage.plan, 'bin');
  mkdirSync(bin);
  const script = ['#!/bin/sh', line, 'PATH="${PATH#*:}" exec git "$@"', ''].join('\n');
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  stage.env['PATH'] = `${bin}:${stage.env['PATH'] ?? ''}`;
}

describe('checkpoints', () => {
  it('S3.16 are taken after every iteration and leave the user’s files and git state alone', async () => {
    const stage = openDirty();
    stage.plans('default', writeFiles);
    stage.plans(3, `${writeFiles}; ${done}`);
    const before = [status(stage), gitState(stage)];
    expect((await stage.run('-p', 'work')).code).toBe(0);
    expect(records(stage)).toEqual(['1', '2', '3', 'start']);
    for (const name of ['log', 'new-1', 'new-2', 'new-3']) rmSync(stage.path(name));
    expect([status(stage), gitState(stage)]).toEqual(before);
    expect(stage.git('ls-tree', '--name-only', ref(stage, '2')).split('\n').slice(0, -1)).toEqual([
      'README.md',
      'log',
      'mine',
      'new-1',
      'new-2',
      'staged',
    ]);
    const history = stage.git(
      'log',
      '--format=%s (%(trailers:key=Ralph-Iteration,valueonly,separator=%x2C))',
      ref(stage, '3'),
    );
    expect(history.split('\n').slice(0, -1)).toEqual([
      'ralph: it, iteration 3 (3)',
      'ralph: it, iteration 2 (2)',
      'ralph: it, iteration 1 (1)',
      'ralph: it, before its first iteration ()',
      'begin ()',
    ]);
    expect(stage.journal.filter(({ type }) => type === 'checkpoint.taken')).toMatchObject([
      { iteration: 1, ref: ref(stage, '1'), error: null },
      { iteration: 2, error: null },
      { iteration: 3, error: null },
    ]);
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(records(stage)).toEqual([]);
  });

  it('of a loop that is removed are left to git gc, and ralph rm says how much that will free', async () => {
    const stage = openDirty();
    stage.plans('default', `head -c 2000000 /dev/urandom >noise; ${done}`);
    await stage.run('-p', 'work', '-m', '1');
    const before = stage.git('count-objects');
    expect((await stage.ralph('rm', 'it').ended).stdout).toBe(
      'removed it\ngit gc will free 1.9 MB that only its checkpoints used (by default once that is two weeks old)\n',
    );
    expect([records(stage), stage.git('count-objects')]).toEqual([[], before]);
  });

  it('are taken whatever the agent does with git, also after failed runs', async () => {
    const stage = openLoadedStage();
    const git = 'git -c user.name=a -c user.email=a@b';
    stage.plans(1, `${writeFiles}; git add -A; ${git} stash --quiet`);
    stage.plans(
      2,
      `git checkout --quiet -b other; ${writeFiles}; git add new-2; ${git} commit --quiet -m two`,
    );
    stage.plans(3, `${writeFiles}; git checkout --quiet --force --detach; exit 3`);
    stage.plans(4, `rm -rf .git; git init --quiet; ${writeFiles}; ${done}`);
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(0);
    expect(stderr).not.toContain('warning');
    // The last agent deleted the repository, and the earlier records with it.
    expect(records(stage)).toEqual(['4']);
    expect(stage.journal.filter(({ type }) => type === 'checkpoint.taken')).toMatchObject(
      [1, 2, 3, 4].map((iteration) => ({ iteration, error: null })),
    );
  });

  it('are not taken outside of git, which Ralph reports once', async () => {
    const stage = openLoadedStage();
    rmSync(stage.path('.git'), { recursive: true });
    stage.plans(2, done);
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(0);
    expect(stderr.match(/not a git repository: no diffs, no checkpoints/g)).toHaveLength(1);
    expect(stderr).not.toContain('warning');
    for (const command of [
      ['diff', 'it'],
      ['rewind', 'it', '1'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- two short commands
      const refused = await stage.ralph(...command).ended;
      expect(refused.code).toBe(2);
      expect(refused.stderr).toContain('is not in a git repository, so "it" has no diffs and no checkpoints');
    }
  });

  it('that fail cause a warning and do not end the loop', async () => {
    const stage = openLoadedStage();
    stage.plans(1, ': >.git/index.broken; mv .git/index .git/index.good; echo broken >.git/index');
    stage.plans(2, `mv .git/index.good .git/index; : >"$FAKE_PLAN/unread"; ${done}`);
    const unread = `echo "warning: could not open directory 'data/': Permission denied" >&2`;
    wrapGit(stage, `case " $* " in *' add '*) [ ! -e "$FAKE_PLAN/unread" ] || ${unread} ;; esac`);
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(0);
    expect(stderr).toMatch(/warning: no checkpoint of iteration 1: git ls-files failed: .*index/);
    expect(stderr).toMatch(/warning: incomplete checkpoint of iteration 2: git cannot read data\/;/);
    expect(records(stage)).toEqual(['2', 'start']);
    expect(stage.git('log', '--format=%s', ref(stage, '2')).split('\n')[1]).toContain('before its first');
  });

  it('that can never be taken are reported at the start', async () => {
    const stage = openLoadedStage();
    stage.write('.git/index', 'broken');
    stage.plans(1, done);
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(0);
    expect(stderr).toMatch(/no diffs, no checkpoints: git [\w-]+ failed/);
  });

  it('continue after the owner was killed during an iteration', async () => {
    const stage = openStage();
    stage.plans('default', writeFiles);
    stage.plans(3, `${waitFor()}; ${writeFiles}; ${done}`);
    const ralph = stage.starts('-p', 'work');
    await stage.waitForCall(3);
    ralph.signal('SIGKILL');
    await ralph.ended;
    expect(records(stage)).toEqual(['1', '2', 'start']);
    const start = stage.git('rev-parse', ref(stage, 'start'));
    // The agent of the killed owner is still running.
    const refused = await stage.ralph('rewind', 'it', '1').ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /the agent of "it" \(process \d+\) is still running; .*ralph stop it --now/,
    );
    const resumed = stage.ralph('resume', 'it');
    await resumed.until('reattached');
    stage.release();
    expect((await resumed.ended).code).toBe(0);
    expect(records(stage)).toEqual(['1', '2', '3', 'start']);
    expect(stage.git('rev-parse', ref(stage, 'start'))).toBe(start);
    expect(stage.git('log', '--format=%s', ref(stage, '3')).split('\n')).toHaveLength(6);
  });

  it('are taken again after the owner was killed while taking one', async () => {
    const stage = openStage();
    const slow = `: >"$FAKE_PLAN/taking"; ${waitFor()}`;
    wrapGit(stage, `case " $* " in *' add '*) [ ! -e "$FAKE_PLAN/slow" ] || { ${slow}; } ;; esac`);
    stage.plans(1, `${writeFiles}; : >"$FAKE_PLAN/slow"; ${done}`);
    const ralph = stage.starts('-p', 'work');
    await stage.waitForFile(join(stage.plan, 'taking'));
    ralph.signal('SIGKILL');
    await ralph.ended;
    rmSync(join(stage.plan, 'slow'));
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(1);
    expect(stage.journal.filter(({ type }) => type === 'checkpoint.taken')).toMatchObject([{ error: null }]);
    expect(stage.running).toEqual([]);
  });

  it('of a replaced loop are deleted, except for the last one', async () => {
    const stage = openLoadedStage();
    stage.plans('default', writeFiles);
    await stage.run('-p', 'work', '-m', '2');
    await stage.run('-p', 'work', '-m', '1');
    expect(records(stage).toSorted()).toEqual(['1', '2', 'start']);
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(records(stage)).toEqual(['2']);
  });
});

describe('the second prompt', () => {
  it('S3.17 S3.49 has new files in its diff, and no secrets (T086 T093)', async () => {
    const stage = openDirty();
    stage.env['MY_TOKEN'] = 'geheim-geheim';
    const key = `sk-${'a1b2'.repeat(6)}`;
    stage.plans(
      1,
      `printf 'const a = 1; // Unexpected token\\nkey = "${key}"\\npassword: hunter2hunter2\\n%s\\n' "$MY_TOKEN" >new.ts; printf '\\0\\1' >binary; printf '\\377\\376\\n' >latin`,
    );
    stage.write(
      'check',
      `echo "SyntaxError: Unexpected token 'export' ($MY_TOKEN)"; echo "Authorization: Bearer ${'x9'.repeat(10)}"; exit 1`,
    );
    await stage.run(...architect, '-m', '2', '--check', 'sh ./check');
    expect(stage.given(1, 'stdin')).not.toContain('## Changes');
    const prompt = stage.given(2, 'stdin');
    expect(prompt).toContain('+++ b/new.ts');
    expect(prompt).toContain(
      '+const a = 1; // Unexpected token\n+key = "<redacted>"\n+password: <redacted>\n+<redacted>\n',
    );
    expect(prompt).toContain('Binary files /dev/null and b/binary differ');
    expect(prompt).toContain('+\uFFFD\uFFFD\n');
    expect(prompt).toContain(
      "SyntaxError: Unexpected token 'export' (<redacted>)\nAuthorization: <redacted>\n",
    );
    for (const secret of [key, 'geheim', 'hunter2', 'x9x9', 'by hand', '.ralph'])
      expect(prompt).not.toContain(secret);
  });

  it('S3.49 has the beginning of a huge diff, and no diff if git fails', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'head -c 60000000 /dev/zero | tr "\\0" "x" | fold -w 80 >big');
    stage.plans(2, 'echo broken >.git/index');
    await stage.run(...architect, '-m', '3');
    expect(stage.given(2, 'stdin')).toMatch(/\+x+\n\+x+\n\.\.\. \(diff truncated\)\n```/);
    expect(stage.given(3, 'stdin')).not.toContain('## Changes');
  });
});

describe('ralph diff', () => {
  const shows = async (stage: Stage, ...args: readonly string[]) => {
    const { code, stdout, stderr } = await stage.ralph('diff', 'it', ...args).ended;
    return { code, files: stdout.match(/(?<=^diff --git a\/)\S+/gm) ?? [], stdout, stderr };
  };

  it('shows the changes of the whole loop, of one iteration and between two', async () => {
    const stage = openDirty(openStage);
    stage.plans('default', writeFiles);
    await stage.run('-p', 'work', '-m', '3');
    stage.write('later', 'x\n');
    stage.git('config', 'color.ui', 'auto');
    expect((await shows(stage)).files).toEqual(['later', 'log', 'new-1', 'new-2', 'new-3']);
    expect(await shows(stage, '2')).toMatchObject({ code: 0, files: ['log', 'new-2'], stderr: '' });
    expect((await shows(stage, '1')).files).toEqual(['log', 'new-1']);
    expect((await shows(stage, '1..3')).files).toEqual(['log', 'new-2', 'new-3']);
    expect((await shows(stage, 'start..2')).files).toEqual(['log', 'new-1', 'new-2']);
    expect((await shows(stage, '3..now')).files).toEqual(['later']);
    expect((await shows(stage, '3..')).files).toEqual(['later']);
    expect((await shows(stage, '3..1')).stdout).toContain('deleted file');
    // The output is a pipe, so git must not use colours or a pager.
    expect((await shows(stage, '2')).stdout).not.toContain('\u001B');
    expect((await shows(stage, '2', '--stat')).stdout).toMatch(/^ log {3}\| 1 \+\n new-2 \| 1 \+\n 2 files/);
  });

  it('lists the checkpoints when the requested one does not exist', async () => {
    const stage = openLoadedStage();
    stage.plans('default', writeFiles);
    await stage.run('-p', 'work', '-m', '3');
    for (const [asked, word] of [
      ['7', '7'],
      ['0', '0'],
      ['1..x', 'x'],
      ['--', ''],
    ] as const) {
      if (word === '') continue;
      // oxlint-disable-next-line no-await-in-loop -- short commands
      const { code, stderr } = await shows(stage, asked);
      expect({ code, stderr }).toEqual({
        code: 2,
        stderr: `ralph: error: "it" has no checkpoint "${word}"; it has: start, 1 to 3\n`,
      });
    }
    expect((await shows(stage, '1..2..3')).stderr).toContain(
      'expected the number of an iteration or a range',
    );
    expect((await stage.ralph('diff', 'other').ended).code).toBe(2);
  });

  it('works in a subfolder and while the loop runs, when rewind is rejected', async () => {
    const stage = openStage();
    mkdirSync(stage.path('sub'));
    stage.plans('default', writeFiles);
    stage.plans(2, `${writeFiles}; ${waitFor()}`);
    const args = ['-p', 'work', '-m', '2', '--cwd', stage.path('sub')];
    const ralph = stage.starts(...args);
    await stage.waitForCall(2);
    await stage.waitForFile(stage.path('sub/new-2'));
    stage.write('outside', 'x');
    const { stdout } = await stage.ralph('diff', 'it', '--cwd', 'sub').ended;
    expect(stdout.match(/(?<=^diff --git a\/)\S+/gm)).toEqual(['sub/log', 'sub/new-1', 'sub/new-2']);
    const refused = await stage.ralph('rewind', 'it', 'start', '--cwd', 'sub').ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(
      /the loop "it" is running \(process \d+\); .*ralph pause it.*ralph stop it --now/,
    );
    stage.release();
    await ralph.ended;
  });
});
