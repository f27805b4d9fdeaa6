/** What a loop has changed, as the hall tells it. */
import { renameSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { localLoops } from '../../src/loops/local-loops.ts';
import type { Chunk } from '../../src/loops/output.ts';
import { openLoadedStage, type Stage } from './stage.ts';

const KEY = 'abcdefgh12345678';
let stage: Stage;
beforeEach(() => {
  stage = openLoadedStage();
  vi.stubEnv('XDG_STATE_HOME', stage.env['XDG_STATE_HOME']);
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null');
  vi.stubEnv('THE_API_KEY', KEY);
});
afterEach(() => void vi.unstubAllEnvs());

const text = ({ data }: Chunk): string => Buffer.from(data, 'base64').toString('utf8');

describe('the hall', () => {
  it('tells which files a loop has changed, with their lines, and the patch in pieces without secrets', async () => {
    stage.write('gone', 'x\n');
    stage.write('ümläut', 'x\n');
    stage.plans(1, `echo 1 >one; rm gone; printf 'a\\0b' >binary; echo key ${KEY} >>'ümläut'`);
    stage.plans(2, 'echo 2 >>one; echo 3 >>one');
    await stage.run('-p', 'work', '-m', '2');
    const loops = localLoops();
    const loop = await loops.find('it', stage.workspace);
    const { files, before, after } = await loops.diff(loop, null);
    expect(files).toEqual([
      { path: 'binary', kind: 'new', added: null, removed: null },
      { path: 'gone', kind: 'gone', added: 0, removed: 1 },
      { path: 'one', kind: 'new', added: 3, removed: 0 },
      { path: 'ümläut', kind: 'changed', added: 1, removed: 0 },
    ]);
    expect((await loops.diff(loop, '2')).files).toEqual([
      { path: 'one', kind: 'changed', added: 2, removed: 0 },
    ]);
    await expect(loops.diff(loop, '7')).rejects.toThrow('has no checkpoint "7"; it has: start, 1, 2');

    const trees = { before, after };
    const whole = await loops.patch(loop, trees, { from: 0 });
    expect(text(whole)).toContain('+key <redacted>\n');
    expect(text(whole)).toContain('+1\n+2\n+3\n');
    expect(whole.after).toBe('end');
    // The files of the loop may be others by now.
    writeFileSync(stage.path('one'), 'changed by hand\n');
    let [pieces, from] = ['', 0];
    for (let next: Chunk['after'] = 'more'; next === 'more';) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      const chunk = await loops.patch(loop, trees, { from, bytes: 50 });
      expect(chunk.from).toBe(from);
      pieces += Buffer.from(chunk.data, 'base64').toString('latin1');
      ({ next: from, after: next } = chunk);
    }
    expect(Buffer.from(pieces, 'latin1').toString('utf8')).toBe(text(whole));
    expect(await loops.patch(loop, trees, { from })).toMatchObject({ data: '', after: 'end' });
  });

  it('tells what a loop has changed by its journal where an agent has moved or removed the records', async () => {
    stage.identifies();
    stage.write('cart.test.sh', 'exit 1\n');
    stage.git('add', '.');
    stage.git('commit', '--quiet', '--message', 'a test');
    const refs = 'git for-each-ref --format="%(refname)" refs/ralph';
    const move = `for ref in $(${refs}); do git update-ref "$ref" HEAD; done`;
    stage.plans(1, 'echo exit 0 >cart.test.sh; git commit --quiet --all --message x; echo 1 >one');
    stage.plans(2, `echo 2 >two; ${move}`);
    await stage.run('-p', 'work', '-m', '2');
    const loops = localLoops();
    const loop = await loops.find('it', stage.workspace);
    const told = async (): Promise<unknown> => {
      const [all, second] = await Promise.all([loops.diff(loop, 'start..2'), loops.diff(loop, '2')]);
      const { changes } = await loops.facts(loop, {});
      const patch = await loops.patch(loop, all, { from: 0 });
      const paths = [all, second, { files: changes?.files ?? [] }].map(({ files }) =>
        files.map(({ path }) => path),
      );
      return { paths, patched: text(patch).includes('+exit 0') };
    };
    const expected = {
      paths: [['cart.test.sh', 'one', 'two'], ['two'], ['cart.test.sh', 'one', 'two']],
      patched: true,
    };
    expect(await told()).toEqual(expected);
    // As a process does that outlives its agent.
    await stage.shell(move).ended;
    expect(await told()).toEqual(expected);
    await stage.shell(`for ref in $(${refs}); do git update-ref -d "$ref"; done`).ended;
    expect(await told()).toEqual(expected);
    expect((await stage.ralph('rewind', 'it', '1').ended).stderr).toContain('it has: none');
  });

  it('moves the loops of a workspace that was moved', async () => {
    stage.write('old/README.md', 'x');
    await stage.ralph('run', 'work', '--name', 'it', '-m', '1', '--cwd', stage.path('old'), '--', stage.agent)
      .ended;
    renameSync(stage.path('old'), stage.path('new'));
    const moved = await localLoops().move(stage.path('old'), stage.path('new'));
    expect(moved).toEqual({ to: stage.path('new'), taken: ['it'], left: [] });
    expect(await localLoops().list({ workspace: stage.path('new') })).toMatchObject([{ name: 'it' }]);
  });
});
