import { chmodSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GitFolder } from '../../test/rig/git-folder.ts';
import { restoreFiles } from './restore.ts';
import { recordTree } from './refs.ts';
import { writeTree } from './tree.ts';

let at: GitFolder;
beforeEach(() => {
  at = new GitFolder();
});
afterEach(() => at.close());

const record = (name: string, tree: string) =>
  recordTree(at.repository(), { ref: `refs/ralph/it/${name}`, tree, message: name });
const records = async (name: string) => record(name, await writeTree(at.repository(), at.scratch));
const copies = (name: string) => `${dirname(at.scratch)}/${name}`;
const restores = (to: string, kept: string, folder?: string) =>
  restoreFiles(at.repository(folder), {
    to: `refs/ralph/it/${to}`,
    scratch: at.scratch,
    keep: (tree) => record(kept, tree),
    copies: { into: copies(kept), from: copies(to) },
  });
const text = (name: string) => readFileSync(at.path(name), 'latin1');
const mode = (name: string) => (statSync(at.path(name)).mode & 0o777).toString(8);
/** A clean filter that strips the output of notebooks. */
const strips = () => {
  at.git('config', 'filter.strip.clean', 'grep -v OUT');
  at.git('config', 'filter.strip.smudge', 'cat');
  at.write('.gitattributes', '*.nb filter=strip\n');
};

describe('a rewind and the rewind back', () => {
  it('restore what a clean filter removed, in any folder and under any name', async () => {
    strips();
    at.write('deep/a.nb', 'in\nOUT 1\n');
    at.write('plain', '1\n');
    await records('start');
    at.write('deep/a.nb', 'in\nOUT 1\nmore\nOUT 2\n');
    at.write('deep/ü "new"\n.nb', 'OUT\nin\n');
    at.write('deep/clean.nb', 'in\n');
    at.write('plain', '2\n');
    expect(await restores('start', 'rewind-1', 'deep')).toMatchObject({ copied: 2, exact: 0 });
    expect(text('deep/a.nb')).toBe('in\n');
    expect(existsSync(copies('rewind-1/plain'))).toBe(false);
    at.write('deep/a.nb', 'OUT 3\nagain\n');
    expect(await restores('rewind-1', 'rewind-2', 'deep')).toMatchObject({ copied: 1, exact: 2 });
    expect([text('deep/a.nb'), readFileSync(at.path('deep/ü "new"\n.nb'), 'utf8')]).toEqual([
      'in\nOUT 1\nmore\nOUT 2\n',
      'OUT\nin\n',
    ]);
    await restores('rewind-2', 'rewind-3', 'deep');
    expect(text('deep/a.nb')).toBe('OUT 3\nagain\n');
    expect(readdirSync(dirname(at.scratch)).toSorted()).toEqual(['rewind-1', 'rewind-2', 'rewind-3']);
  });

  it('restore line ends and permissions', async () => {
    at.git('config', 'core.autocrlf', 'true');
    at.write('mixed', 'a\r\nb\n');
    at.write('key', '1\r\n');
    at.write('run', '1\r\n');
    await records('start');
    at.write('mixed', 'a\r\nb\nc\r\nd\n');
    at.write('key', '2\r\n');
    chmodSync(at.path('key'), 0o600);
    at.write('run', '2\r\n');
    chmodSync(at.path('run'), 0o777 & ~process.umask());
    expect(await restores('start', 'rewind-1')).toMatchObject({ copied: 2 });
    expect(await restores('rewind-1', 'rewind-2')).toMatchObject({ exact: 2 });
    expect([text('mixed'), text('key'), mode('key')]).toEqual(['a\r\nb\nc\r\nd\n', '2\r\n', '600']);
  });

  it('restore permissions without any conversion', async () => {
    at.write('key', '1');
    at.write('other', '1');
    await records('start');
    at.write('key', '2');
    chmodSync(at.path('key'), 0o600);
    at.write('other', '2');
    expect(await restores('start', 'rewind-1')).toMatchObject({ copied: 1 });
    expect(await restores('rewind-1', 'rewind-2')).toMatchObject({ exact: 1 });
    expect([text('key'), mode('key'), text('other')]).toEqual(['2', '600', '2']);
  });

  it('restore a file in which git sees no difference', async () => {
    strips();
    at.write('a.nb', 'in\n');
    await records('start');
    at.write('a.nb', 'in\nOUT\nmore\n');
    await restores('start', 'rewind-1');
    at.write('a.nb', 'in\nmore\nOUT other\n');
    expect(await restores('rewind-1', 'rewind-2')).toMatchObject({
      copied: 1,
      exact: 1,
      change: '1 file changed',
    });
    expect(text('a.nb')).toBe('in\nOUT\nmore\n');
    await restores('rewind-2', 'rewind-3');
    expect(text('a.nb')).toBe('in\nmore\nOUT other\n');
  });

  it('keep a copy if git cannot restore the file', async () => {
    strips();
    at.write('a.nb', 'in\n');
    await records('start');
    at.write('a.nb', 'more\n');
    at.git('config', 'filter.strip.required', 'true');
    at.git('config', 'filter.strip.smudge', 'false');
    await expect(restores('start', 'rewind-1')).rejects.toThrow('smudge filter strip failed');
    expect(readFileSync(copies('rewind-1/a.nb'), 'utf8')).toBe('more\n');
  });
});
