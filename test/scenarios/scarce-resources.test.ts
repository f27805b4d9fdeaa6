/** What the machine refuses, or has only little of: file descriptors, writable folders, space for logs. */
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const run = '$RALPH run -p work -m 1 --name it -- "$AGENT"; echo "run $?"';
const errors = (text: string): readonly string[] => text.match(/^ralph: .*error.*$/gm) ?? [];

describe('a loop', () => {
  it('ends with exit code 3 and one line when there are too few file descriptors', async () => {
    const stage = openLoadedStage();
    stage.plans('default', "echo '<promise>DONE</promise>'");
    const { stdout, stderr } = await stage.shell(
      `for limit in $(seq 21 34); do (ulimit -n $limit; ${run}); rm -rf .ralph; done`,
      { AGENT: stage.agent },
    ).ended;
    const ends = stdout.match(/^run \d+$/gm) ?? [];
    const refused = ends.filter((line) => line === 'run 3').length;
    expect(refused).toBeGreaterThan(0);
    expect(ends.filter((line) => line === 'run 0')).toHaveLength(14 - refused);
    expect(errors(stderr)).toHaveLength(refused);
    expect(errors(stderr).every((line) => /too many open files; raise the limit/.test(line))).toBe(true);
  });

  it('does not start and exits with 2 where a folder cannot be made', async () => {
    const stage = openLoadedStage();
    stage.write('.ralph', 'a file');
    const refused = await stage.run('-p', 'work', '-m', '2');
    expect(refused.code).toBe(2);
    expect(errors(refused.stderr)).toHaveLength(1);
    expect(refused.stderr).toContain('not a folder');
  });

  it('names a read-only file system, and not a missing folder', { tags: ['unshare'] }, async () => {
    const stage = openLoadedStage();
    const { stdout, stderr } = await onReadOnlyDisk(stage);
    expect(stdout).toBe('run 2\n');
    expect(errors(stderr)).toHaveLength(1);
    expect(stderr).toContain('read-only file system');
  });

  it('empties the oldest log of its checks when they take too much together, in the state and in the workspace folder', async () => {
    const stage = openLoadedStage();
    await stage.run('-p', 'work', '-m', '2', '--check', 'head -c 2000000 /dev/zero; echo');
    const logOf = (id: string): string => {
      const [name = ''] = readdirSync(stage.file(`runs/${id}/checks`));
      return `runs/${id}/checks/${name}`;
    };
    // A file with a hole takes no space, and no time.
    truncateSync(stage.file(logOf('0001')), 1100 * 2 ** 20);
    await stage.ralph('resume', 'it', '-m', '3').ended;
    const emptied =
      /^\[emptied by ralph: the logs of the checks of this loop took more than 1 GB; this one had 1\.1 GB\]\n$/;
    for (const file of [stage.file(logOf('0001')), stage.path(`.ralph/loops/it/${logOf('0001')}`)])
      expect(readFileSync(file, 'utf8')).toMatch(emptied);
    expect(['0002', '0003'].map((id) => statSync(stage.file(logOf(id))).size)).toEqual([
      2_000_001, 2_000_001,
    ]);
  });
});

async function onReadOnlyDisk(stage: Stage): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const script = [
    'mount --bind "$PLACE" "$PLACE"',
    'mount -o remount,bind,ro "$PLACE"',
    'cd "$PLACE"',
    run,
  ].join('\n');
  const env = { PLACE: stage.workspace, AGENT: stage.agent, SCRIPT: script };
  return stage.shell('exec unshare --user --map-root-user --mount sh -c "$SCRIPT"', env).ended;
}
