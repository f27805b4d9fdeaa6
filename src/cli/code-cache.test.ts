import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'rolldown';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

const root = mkdtempSync(join(tmpdir(), 'ralph-code-cache-'));
const own = join(root, 'own');
const state = join(root, 'state');
const caches = join(state, 'ralph', 'code');
/** Small files are not cached. */
const PADDING = `/* ${'-'.repeat(2000)} */`;

/** As in the package: the cache works on CommonJS. */
beforeAll(async () => {
  await build({
    input: join(import.meta.dirname, 'code-cache.ts'),
    platform: 'node',
    output: { file: join(root, 'cache.cjs'), format: 'cjs' },
  });
  writeFileSync(
    join(root, 'main.cjs'),
    `const own = ${JSON.stringify(own)};
    require('./cache.cjs').useCodeCache(own);
    const { answer } = require(own + '/part.js');
    answer().then((text) => console.log(text));`,
  );
});

beforeEach(() => {
  rmSync(own, { recursive: true, force: true });
  rmSync(state, { recursive: true, force: true });
  mkdirSync(own);
  mkdirSync(join(state, 'ralph'), { recursive: true });
  writeFileSync(join(own, 'package.json'), '{ "type": "commonjs" }');
  writeFileSync(join(own, 'later.mjs'), 'export const later = "later";');
  writeFileSync(join(own, 'import.js'), 'module.exports = (path) => import(path);');
  writeFileSync(join(own, 'small.js'), 'exports.small = "other";');
  writeFileSync(join(own, 'other.js'), `exports.other = require('./small.js').small; ${PADDING}`);
  writePart('first');
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Every kind of import that the command has. */
function writePart(text: string): void {
  writeFileSync(
    join(own, 'part.js'),
    `const { other } = require('./other.js'); ${PADDING}
    exports.answer = async () => ['${text}', other, (await require('./import.js')('./later.mjs')).later, __dirname === require('node:path').dirname(__filename)].join(' ');`,
  );
}

function call(env: Record<string, string> = {}, cwd: string = own): string {
  const { stdout, stderr } = spawnSync(process.execPath, [join(root, 'main.cjs')], {
    encoding: 'utf8',
    cwd,
    env: { PATH: process.env['PATH'], HOME: root, XDG_STATE_HOME: state, ...env },
  });
  return `${stdout}${stderr}`;
}

function cacheOf(file: string): string {
  return join(caches, readdirSync(caches).find((name) => name.startsWith(`${file}-`)) ?? '');
}

it('runs a file the same way with and without its cache', () => {
  for (let time = 0; time < 3; time++) expect(call()).toBe('first other later true\n');
  expect(readdirSync(caches)).toHaveLength(2);
});

it('lets a few calls write a cache, and no more', () => {
  for (let time = 0; time < 4; time++) call();
  const before = readFileSync(cacheOf('part.js'));
  expect(before.toString('latin1', 0, 2)).toBe('4 ');
  writeFileSync(cacheOf('other.js'), '');
  call();
  expect(readFileSync(cacheOf('part.js'))).toEqual(before);
});

it('compiles a file again that has changed', () => {
  call();
  writePart('second version');
  expect(call()).toBe('second version other later true\n');
});

it('compiles a file again that has changed and has the same size and time, as in the next version of a package', () => {
  const path = join(own, 'part.js');
  const time = new Date('1985-10-26T08:15:00Z');
  utimesSync(path, time, time);
  call();
  writePart('third');
  utimesSync(path, time, time);
  expect(call()).toBe('third other later true\n');
});

it('makes a damaged cache again', () => {
  call();
  const path = cacheOf('part.js');
  const content = readFileSync(path);
  for (const at of [0, 5, 20, content.length - 200, content.length - 1]) {
    const damaged = Buffer.from(content);
    damaged[at] = (damaged[at] ?? 0) ^ 0x11;
    writeFileSync(path, damaged);
    expect(call()).toBe('first other later true\n');
    expect(readFileSync(path).toString('latin1', 0, 2)).toBe('1 ');
  }
  writeFileSync(path, content.subarray(0, content.length / 2));
  expect(call()).toBe('first other later true\n');
});

it('ignores a folder in which others can write', () => {
  call();
  const path = cacheOf('part.js');
  const content = readFileSync(path);
  chmodSync(caches, 0o777);
  expect(call()).toBe('first other later true\n');
  expect(readFileSync(path)).toEqual(content);
});

it.each([
  ['in a sandbox', { RALPH_SANDBOX: '/requests' }],
  ['with a state folder that may be in the workspace', { RALPH_STATE: '/state' }],
  ['if it is switched off', { RALPH_NO_COMPILE_CACHE: '1' }],
])('writes nothing %s', (_, env) => {
  expect(call(env)).toBe('first other later true\n');
  expect(readdirSync(join(state, 'ralph'))).toEqual([]);
});

it('neither reads nor writes caches in the repository that it is called in', () => {
  mkdirSync(join(root, '.git'));
  mkdirSync(join(root, 'folder'));
  try {
    expect(call({}, join(root, 'folder'))).toBe('first other later true\n');
    expect(readdirSync(join(state, 'ralph'))).toEqual([]);
  } finally {
    rmSync(join(root, '.git'), { recursive: true });
    rmSync(join(root, 'folder'), { recursive: true });
  }
});

it('makes no state folder', () => {
  rmSync(join(state, 'ralph'), { recursive: true });
  expect(call()).toBe('first other later true\n');
  expect(readdirSync(state)).toEqual([]);
});
