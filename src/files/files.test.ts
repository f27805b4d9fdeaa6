import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { below } from './below.ts';
import { openRegular, readRegular, textOf, UnusableFile, makeFolders } from './files.ts';
import { createFile, replaceFile } from './replace-file.ts';

let folder: string;
let victim: string;
const at = (...path: readonly string[]): string => join(folder, ...path);
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-files-')));
  victim = at('victim');
  writeFileSync(victim, 'precious');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('reading', () => {
  it('returns the content of a regular file, and null if there is none', () => {
    expect(readRegular(victim)?.toString()).toBe('precious');
    expect(readRegular(at('none'))).toBeNull();
    expect(readRegular(join(victim, 'below a file'))).toBeNull();
  });

  it.each([
    ['a symbolic link', (path: string) => symlinkSync(victim, path)],
    ['a symbolic link', (path: string) => symlinkSync('/nowhere', path)],
    ['a FIFO', (path: string) => void execFileSync('mkfifo', [path])],
    ['a folder', (path: string) => mkdirSync(path)],
    ['a device', (path: string) => symlinkSync('/dev/zero', path)],
  ])('refuses %s at once', (_, make) => {
    make(at('planted'));
    for (const way of ['read', 'append', 'lock', 'create'] as const) {
      expect(() => closeSync(openRegular(at('planted'), way))).toThrow(at('planted'));
    }
    expect(() => readRegular(at('planted'))).toThrow(UnusableFile);
    expect(textOf(at('planted'))).toBeNull();
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(existsSync('/nowhere')).toBe(false);
  });

  it('does not read a file that is too long', () => {
    truncateSync(victim, 2 ** 40);
    expect(() => readRegular(victim)).toThrow(/is too long: 1099511627776 bytes/);
  });
});

describe('replacing a file', () => {
  it('is not led elsewhere by links under the names that a temporary file might have', () => {
    // The name of the temporary file was the process id: a clone with a link for every process id hit it.
    for (const pid of [process.pid, process.pid + 1, 1]) symlinkSync(victim, at(`.state.json.${pid}`));
    replaceFile(at('state.json'), 'new');
    expect([readFileSync(victim, 'utf8'), readFileSync(at('state.json'), 'utf8')]).toEqual([
      'precious',
      'new',
    ]);
  });

  it('replaces a link and not the file behind it, and leaves nothing else', () => {
    symlinkSync(victim, at('state.json'));
    replaceFile(at('state.json'), 'new', { mode: 0o600, flush: true });
    expect(readFileSync(victim, 'utf8')).toBe('precious');
    expect(lstatSync(at('state.json')).mode & 0o7777).toBe(0o600);
    mkdirSync(at('taken'));
    expect(() => replaceFile(at('taken'), 'new')).toThrow('EISDIR');
    expect(readdirSync(folder).toSorted()).toEqual(['state.json', 'taken', 'victim']);
  });

  it('creates a file only if there is none', () => {
    expect([createFile(at('new'), 'first'), createFile(at('new'), 'second')]).toEqual([true, false]);
    expect(createFile(victim, 'second')).toBe(false);
    expect(readFileSync(at('new'), 'utf8')).toBe('first');
    expect(readdirSync(folder).toSorted()).toEqual(['new', 'victim']);
  });
});

describe('a folder below another', () => {
  const write = (parts: readonly string[]): void =>
    below(folder, parts, { make: true }, (path) => writeFileSync(join(path, 'file'), 'x'));

  it('is made where it is missing', () => {
    write(['a', 'b', 'c']);
    write(['a', 'b', 'c']);
    expect(readFileSync(at('a/b/c/file'), 'utf8')).toBe('x');
    expect(() => below(folder, ['a', 'z'], { make: false }, String)).toThrow(at('a/z'));
  });

  it.each([[['link']], [['link', 'b']], [['a', 'link']]])(
    'is refused if a link is on the way: %j',
    (parts) => {
      mkdirSync(at('elsewhere'));
      mkdirSync(at('a'));
      symlinkSync(at('elsewhere'), at('link'));
      symlinkSync(at('elsewhere'), at('a/link'));
      const link = at(...parts.slice(0, parts.indexOf('link') + 1));
      expect(() => write(parts)).toThrow(`${link} is a symbolic link`);
      expect(readdirSync(at('elsewhere'))).toEqual([]);
    },
  );

  it('is not led elsewhere by a folder that becomes a link while it is used', () => {
    mkdirSync(at('elsewhere'));
    below(folder, ['a', 'b'], { make: true }, (path) => {
      renameSync(at('a'), at('moved'));
      symlinkSync(at('elsewhere'), at('a'));
      mkdirSync(at('elsewhere/b'));
      writeFileSync(join(path, 'file'), 'x');
    });
    expect(readdirSync(at('elsewhere/b'))).toEqual([]);
    expect(readdirSync(at('moved/b'))).toEqual(['file']);
  });

  it('is named by its real path in errors', () => {
    expect(() => below(folder, ['a'], { make: true }, (path) => readFileSync(join(path, 'none')))).toThrow(
      at('a/none'),
    );
    expect(() => write(['victim'])).toThrow(`${victim} is not a folder`);
  });
});

describe('making folders', () => {
  it('gives every new folder the mode, and keeps those that exist', () => {
    makeFolders(at('a/b'), 0o700);
    makeFolders(at('a/b'), 0o755);
    expect([at('a'), at('a/b')].map((path) => lstatSync(path).mode & 0o777)).toEqual([0o700, 0o700]);
    expect(() => makeFolders('/proc/none/such')).toThrow('ENOENT');
  });
});
