import { afterEach, beforeEach, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { presets } from '../loop/presets.ts';
import { watchedFiles } from './watched-files.ts';

let at: GitFolder;
beforeEach(() => {
  at = GitFolder.begun();
});
afterEach(() => at.close());

/** Watches the files that globs protect; also how long the event loop stood still at most, and how long it took in total. */
async function watch(protect: readonly string[]) {
  const { policy } = presets.default;
  const start = { tree: at.git('rev-parse', 'HEAD^{tree}').trim() };
  const began = performance.now();
  let [last, stillMs, isOver] = [began, 0, false];
  const tick = (): void => {
    const now = performance.now();
    [last, stillMs] = [now, Math.max(stillMs, now - last)];
    if (!isOver) setImmediate(tick);
  };
  tick();
  const watched = await watchedFiles(at.repository(), start, {
    ...policy,
    evidence: { ...policy.evidence, protect },
  });
  isOver = true;
  tick();
  return { names: watched.files.map(({ name }) => name), idle: watched.idle, stillMs, ms: last - began };
}

it('names the protected files, and the globs that match none', async () => {
  for (const name of ['test/a', 'test/b', 'src/c']) at.write(name, '1');
  at.commits();
  expect(await watch(['test/**', '**/a', 'none'])).toMatchObject({
    names: ['a', 'test/a', 'test/b'],
    idle: ['none'],
  });
});

it('lets other loops go on while slow globs are compared with many files', async () => {
  const deep = `below/${'a/'.repeat(30)}`;
  for (let count = 0; count < 200; count++) at.write(`${deep}${'a'.repeat(100)}${count}`, '1');
  at.commits();
  const { names, stillMs, ms } = await watch([`${'**/a*/'.repeat(200)}b`, `${'**/*a*/'.repeat(200)}c`]);
  expect(names).toEqual([]);
  expect(stillMs).toBeLessThan(ms / 3);
});
