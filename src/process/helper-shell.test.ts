import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../test/rig/cli/until.ts';
import { exec, type ExecOptions } from './exec.ts';
import { runInShell } from './helper-shell.ts';

const PATH = process.env['PATH'] ?? '';

function folder(): string {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-shell-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function run(
  argv: readonly [string, ...string[]],
  { cwd = '/', env = {} }: { readonly cwd?: string; readonly env?: Record<string, string> } = {},
) {
  const answer = await runInShell(argv, { cwd, env: { PATH, ...env } })?.ended;
  return answer === null || answer === undefined
    ? null
    : { ...answer, stdout: answer.stdout.toString('utf8') };
}

describe('a program in a helper shell', () => {
  it('gets its arguments and environment byte for byte', async () => {
    const words = [
      "it's",
      '',
      ' a  b ',
      '$HOME `id` "x"',
      'line\nbreak',
      '\\n',
      'Łódź ü 中',
      '<>&|;*?',
      '-n',
    ];
    const answer = await run(['printf', '[%s]', ...words]);
    expect(answer).toMatchObject({ code: 0, stdout: words.map((word) => `[${word}]`).join(''), stderr: '' });
    const value = "a'b\n$PATH Ł\\";
    const shown = await run(['printenv', 'STRANGE'], { env: { STRANGE: value } });
    expect(shown?.stdout).toBe(`${value}\n`);
  });

  it('does not get the environment of this process, nor that of the program before', async () => {
    await run(['true'], { env: { BEFORE: '1' } });
    const answer = await run(['env'], { env: { OWN: '2' } });
    const names = answer?.stdout.split('\n').map((line) => line.replace(/=.*/, ''));
    expect(names?.filter((name) => !/^(?:|PWD|OLDPWD|_|SHLVL)$/.test(name)).toSorted()).toEqual([
      'OWN',
      'PATH',
    ]);
  });

  it('runs in its folder, also if its name is not ASCII', async () => {
    const cwd = join(folder(), "Ł 'ü'");
    mkdirSync(cwd);
    expect((await run(['pwd'], { cwd }))?.stdout).toBe(`${cwd}\n`);
  });

  it('reports its exit code, stderr and output without a final newline', async () => {
    const answer = await run(['/bin/sh', '-c', 'printf out; printf err >&2; exit 7']);
    expect(answer).toEqual({ code: 7, stdout: 'out', stderr: 'err' });
    const large = await run(['/bin/sh', '-c', 'head -c 3000000 /dev/zero']);
    expect(large?.stdout.length).toBe(3_000_000);
  });

  it('runs a script itself, which leaves nothing behind', async () => {
    const script = 'cd /usr; leak=1; set -- leak; echo $$ >&2; exit 3';
    const running = runInShell(['/bin/sh', '-c', script], { cwd: '/', env: { PATH, X: 'x' } });
    expect(await running?.ended).toMatchObject({ code: 3, stderr: `${running?.pid}\n` });
    expect((await run(['/bin/sh', '-c', 'echo "$PWD $#$leak$X"']))?.stdout).toBe('/ 0\n');
  });

  it('has an empty stdin, or lines of ASCII', async () => {
    expect((await run(['cat']))?.stdout).toBe('');
    const place = { cwd: '/', env: { PATH } };
    const lines = `$HOME \\ 'x' "\`id\`"\n\n\tend\n`;
    expect((await runInShell(['cat'], place, lines)?.ended)?.stdout.toString()).toBe(lines);
    expect((await runInShell(['true'], place, lines)?.ended)?.code).toBe(0);
    for (const other of ['no newline', 'ü\n', '\0\n', `${'x'.repeat(5000)}\n`])
      expect(runInShell(['cat'], place, other)).toBeNull();
  });

  it('is left to the caller if it cannot be started as it should be', async () => {
    expect(await run(['no-such-program'])).toBeNull();
    expect(await run(['true'], { cwd: '/no/such/folder' })).toBeNull();
    expect(await run(['true'], { env: { 'NOT-A-NAME': '1' } })).toBeNull();
    expect(await run(['true'], { env: { UID: '1' } })).toBeNull();
    expect(await run(['true'])).toMatchObject({ code: 0 });
  });

  it('is ended by a signal, which the shell survives to report it', async () => {
    const at = folder();
    const script = `trap 'echo cleaned >${at}/note; exit 1' TERM; echo up >${at}/up; while :; do sleep 0.01; done`;
    const running = runInShell(['/bin/sh', '-c', script], { cwd: '/', env: { PATH } });
    await until('up', () => existsSync(join(at, 'up')) || null, { everyMs: 5 });
    running?.signal('SIGTERM');
    await running?.ended;
    // A program that removes its lock files on SIGTERM has done so by now.
    expect(readFileSync(join(at, 'note'), 'utf8')).toBe('cleaned\n');
    const killed = runInShell(['sleep', '60'], { cwd: '/', env: { PATH } });
    killed?.signal('SIGKILL');
    expect(await killed?.ended).toMatchObject({ code: null });
    const terminated = runInShell(['/bin/sh', '-c', `echo >${at}/again; exec sleep 60`], {
      cwd: '/',
      env: { PATH },
    });
    await until('again', () => existsSync(join(at, 'again')) || null, { everyMs: 5 });
    terminated?.signal('SIGTERM');
    expect(await terminated?.ended).toMatchObject({ code: null });
    expect(await run(['true'])).toMatchObject({ code: 0 });
  });

  it('is left to the caller if the shell dies', async () => {
    const running = runInShell(['sleep', '60'], { cwd: '/', env: { PATH } });
    process.kill(running?.pid ?? 0, 'SIGKILL');
    expect(await running?.ended).toBeNull();
    expect(await run(['true'])).toMatchObject({ code: 0 });
  });
});

it('a helper shell ends with the process that uses it, however that ends', async () => {
  const at = folder();
  const shell = JSON.stringify(new URL('../../dist/process/helper-shell.js', import.meta.url).href);
  const program = `
    const { runInShell } = await import(${shell});
    const { pid, ended } = runInShell(['true'], { cwd: '/', env: { PATH: process.env.PATH } });
    await ended;
    console.log(pid);
    if (process.argv.includes('kill')) process.kill(process.pid, 'SIGKILL');
  `;
  writeFileSync(join(at, 'program.mjs'), program);
  for (const how of ['exit', 'kill']) {
    const script = `"${process.execPath}" ${join(at, 'program.mjs')} ${how} || true`;
    const pid = Number(
      execFileSync('/bin/sh', ['-c', script], { cwd: import.meta.dirname, encoding: 'utf8' }),
    );
    expect(pid).toBeGreaterThan(0);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await until(`the end of ${pid}`, () => !isAlive(pid) || null, { everyMs: 5 });
  }
});

it('exec uses the same shell for short programs, and gives the same answers as without one', async () => {
  const at = folder();
  execFileSync('git', ['init', '--quiet'], { cwd: at });
  const options: ExecOptions = { cwd: at, env: { PATH, HOME: at }, timeoutMs: 60_000 };
  for (const argv of [
    ['git', 'rev-parse', '--show-toplevel'],
    ['git', 'rev-parse', 'HEAD'],
    ['git', 'no-such-command'],
    ['no-such-git'],
  ] as const) {
    // oxlint-disable no-await-in-loop -- one after the other
    const direct = await exec(argv, options);
    expect(await exec(argv, { ...options, isShort: true })).toEqual(direct);
    expect(await exec(argv, { ...options, isShort: true })).toEqual(direct);
    // oxlint-enable no-await-in-loop
  }
  const interrupt = AbortSignal.timeout(50);
  const ended = await exec(['sleep', '60'], { ...options, isShort: true, interrupt });
  expect(ended?.code).toBeNull();
  const late = await exec(['sleep', '60'], { ...options, isShort: true, timeoutMs: 50 });
  expect(late?.code).toBeNull();
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
