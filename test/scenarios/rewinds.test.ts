import { existsSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { done, gitState, openDirty, records, status, writeFiles } from './checkpoint-stage.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

describe('ralph rewind', () => {
  const rewinds = (stage: Stage, to: string) => stage.ralph('rewind', 'it', to).ended;

  it('restores the files, prints how to undo that, and leaves index, branch and ignored files alone', async () => {
    const stage = openDirty();
    stage.write('.git/info/exclude', 'ignored\n');
    stage.write('ignored', 'x');
    stage.plans('default', `${writeFiles}; rm -f mine; echo "by $RALPH_ITERATION" >README.md`);
    await stage.run('-p', 'work', '-m', '3');
    const kept = gitState(stage);
    const { code, stdout } = await rewinds(stage, '1');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^rewound the files of it to checkpoint 1: 4 files changed, \d+ insertion.*\n {2}changed {2}README\.md\n {2}changed {2}log\n(?: {2}removed {2}new-[23]\n){2}.*: ralph rewind it rewind-1\n$/,
    );
    expect([stage.read('log'), stage.read('README.md'), stage.read('ignored')]).toEqual([
      '1\n',
      'by 1\n',
      'x',
    ]);
    expect([existsSync(stage.path('new-3')), existsSync(stage.path('mine'))]).toEqual([false, false]);
    await rewinds(stage, 'start');
    expect(status(stage)).toEqual([' M README.md', 'A  staged', '?? mine']);
    expect(stage.read('README.md')).toBe('changed by hand\n');
    expect((await rewinds(stage, 'rewind-1')).code).toBe(0);
    expect([stage.read('log'), existsSync(stage.path('new-3'))]).toEqual(['1\n2\n3\n', true]);
    expect(gitState(stage)).toEqual(kept);
    expect((await rewinds(stage, 'rewind-1')).stdout).toMatch(
      /already match checkpoint .*; nothing was changed/,
    );
    expect(records(stage)).toEqual(['1', '2', '3', 'rewind-1', 'rewind-2', 'rewind-3', 'start']);
    const unknown = await rewinds(stage, '4');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('it has: start, 1 to 3, rewind-1, rewind-2, rewind-3');
  });

  it('lists ten files and the number of the others', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x >"file-$i"; done');
    await stage.run('-p', 'work', '-m', '1');
    const named = /: 12 files changed.*\n(?: {2}removed {2}file-\d+\n){10} {2}and 2 more\nbranch and/;
    expect((await rewinds(stage, 'start')).stdout).toMatch(named);
    expect((await rewinds(stage, 'rewind-1')).stdout).toMatch(/\n {2}added {4}file-1\n/);
  });

  it('lets the loop resume from the restored files', async () => {
    const stage = openStage();
    stage.plans('default', writeFiles);
    await stage.run('-p', 'work', '-m', '3');
    await rewinds(stage, '1');
    stage.plans(4, `${writeFiles}; ${done}`);
    expect((await stage.ralph('resume', 'it', '-m', '5').ended).code).toBe(0);
    expect(stage.read('log')).toBe('1\n4\n');
    const { stdout } = await stage.ralph('diff', 'it', '1..4').ended;
    expect(stdout.match(/(?<=^diff --git a\/)\S+/gm)).toEqual(['log', 'new-4']);
  });

  it('is rejected while another loop works on the same files, or if a folder is in the way', async () => {
    const stage = openLoadedStage();
    stage.plans(1, 'echo 1 >a');
    await stage.run('-p', 'work', '-m', '1');
    stage.plans(2, waitFor());
    const other = stage.ralph('run', '--name', 'other', '-p', 'work', '-m', '1', '--', stage.agent);
    await stage.waitForCall(2);
    const busy = await rewinds(stage, 'start');
    expect(busy.code).toBe(2);
    expect(busy.stderr).toContain('"other" is running on the same files as "it"');
    stage.release();
    await other.ended;
    rmSync(stage.path('a'));
    stage.write('.git/info/exclude', 'a/\n');
    stage.write('a/precious', 'x');
    const blocked = await rewinds(stage, '1');
    expect(blocked.code).toBe(2);
    expect(blocked.stderr).toContain('cannot rewind to 1, nothing was changed: a is now a folder');
    expect(records(stage)).not.toContain('rewind-1');
  });

  it('reports a failure halfway, and how to restore the files', async () => {
    const stage = openLoadedStage();
    stage.git('config', 'filter.bad.clean', 'cat');
    stage.git('config', 'filter.bad.smudge', 'cat');
    stage.git('config', 'filter.bad.required', 'true');
    stage.write('.git/info/attributes', 'm filter=bad\n');
    stage.plans('default', 'for f in a m z; do echo "$RALPH_ITERATION" >$f; done');
    await stage.run('-p', 'work', '-m', '2');
    stage.git('config', 'filter.bad.smudge', 'false');
    const { code, stderr } = await rewinds(stage, '1');
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /"it" is only partly rewound to 1: .*; restore the files from before with: ralph rewind it rewind-1/,
    );
    stage.git('config', 'filter.bad.smudge', 'cat');
    expect((await rewinds(stage, 'rewind-1')).code).toBe(0);
    expect([stage.read('a'), stage.read('m'), stage.read('z')]).toEqual(['2\n', '2\n', '2\n']);
  });

  it('finishes after one interrupt, and leaves no process behind when it is killed', async () => {
    const stage = openStage();
    const slow = `: >"$FAKE_PLAN/turning"; ${waitFor()}`;
    stage.git('config', 'filter.slow.clean', 'cat');
    stage.git(
      'config',
      'filter.slow.smudge',
      `x=$(cat); [ "$x$(cat "$FAKE_PLAN/slow")" != 1slow ] || { ${slow}; }; echo "$x"`,
    );
    stage.write('.git/info/attributes', 'm filter=slow\n');
    stage.plans('default', 'for f in a m z; do echo "$RALPH_ITERATION" >$f; done');
    await stage.run('-p', 'work', '-m', '2');
    writeFileSync(join(stage.plan, 'slow'), 'slow');
    const interrupted = stage.process('rewind', 'it', '1');
    await stage.waitForFile(join(stage.plan, 'turning'));
    interrupted.signal('SIGINT');
    await interrupted.until('finishing the rewind');
    stage.release();
    expect((await interrupted.ended).code).toBe(0);
    expect([stage.read('a'), stage.read('m'), stage.read('z')]).toEqual(['1\n', '1\n', '1\n']);
    await rewinds(stage, 'rewind-1');
    for (const name of ['go', 'turning']) rmSync(join(stage.plan, name));
    const killed = stage.process('rewind', 'it', '1');
    await stage.waitForFile(join(stage.plan, 'turning'));
    killed.signal('SIGKILL');
    await killed.ended;
    expect([stage.read('a'), existsSync(stage.path('z'))]).toEqual(['1\n', true]);
    writeFileSync(join(stage.plan, 'slow'), '');
    expect((await rewinds(stage, 'rewind-3')).code).toBe(0);
    expect(stage.running).toEqual([]);
    stage.release();
    expect([stage.read('a'), stage.read('m'), stage.read('z')]).toEqual(['2\n', '2\n', '2\n']);
    expect(readdirSync(stage.files('it').state).filter((name) => name.includes('index'))).toEqual([]);
    expect(existsSync(stage.file('rewinds/scratch'))).toBe(false);
  });

  it('keeps exact copies of files that git cannot restore exactly, and prints where', async () => {
    const stage = openLoadedStage();
    stage.plans('default', 'echo "$RALPH_ITERATION" >key; chmod 600 key');
    await stage.run('-p', 'work', '-m', '2');
    const copies = stage.file('rewinds/rewind-1');
    expect((await rewinds(stage, '1')).stdout).toContain(
      `note: git cannot restore 1 file exactly (filters, line ends or permissions): exact copies are in\n      ${copies},`,
    );
    expect((await rewinds(stage, 'rewind-1')).stdout).toContain('note: 1 file restored from exact copies');
    expect([stage.read('key'), statSync(stage.path('key')).mode & 0o777]).toEqual(['2\n', 0o600]);
  });
});
