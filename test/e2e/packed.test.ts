import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist', 'cli', 'main.js');
const VERSION = `${manifestVersion()}\n`;

let shared: string;
let tarball: string;
beforeAll(() => {
  shared = mkdtempSync(join(tmpdir(), 'ralph-tarball-'));
  const pack = ['pack', ROOT, '--ignore-scripts', '--pack-destination', shared, '--silent', '--offline'];
  // Without its scripts, which would rebuild `dist` while other tests use it.
  const printed = execFileSync('npm', pack, { cwd: shared, encoding: 'utf8' });
  tarball = join(shared, printed.trim().split('\n').at(-1) ?? '');
});
afterAll(() => rmSync(shared, { recursive: true, force: true }));

let folder: string;
let env: NodeJS.ProcessEnv;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-packed-'));
  env = {
    ...process.env,
    HOME: folder,
    XDG_STATE_HOME: join(folder, 'state'),
    npm_config_cache: join(folder, 'cache'),
  };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('S2.2 S2.5 works from a packed tarball, as a command and as a library', { timeout: 240_000 }, () => {
  const npm = (...args: string[]): string =>
    execFileSync('npm', [...args, '--silent', '--offline'], { cwd: folder, env, encoding: 'utf8' });
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  npm('install', tarball, '--ignore-scripts', '--no-audit', '--no-fund');
  expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).toEqual([
    'ralph-until-done',
  ]);
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  // npx chooses a command of several if all of them are one file.
  const version = run('npx', '--yes', '--offline', `file:${tarball}`, '--version');
  expect(version).toMatchObject({ status: 0, stdout: VERSION });
  expect(run(join(folder, 'node_modules', '.bin', 'rud'), '--version').stdout).toBe(VERSION);
  // What npx has started: a start of npm takes longer than all of this.
  const ralph = join(folder, 'node_modules', '.bin', 'ralph');
  const loop = run(ralph, 'run', 'a task', '--json', '--', 'echo', '<promise>DONE</promise>');
  expect(JSON.parse(loop.stdout)).toMatchObject({ status: 'done', exitCode: 0, iterations: 1 });
  writeFileSync(join(folder, '.ralph', 'settings.json'), '{ "maxIteration": 3 }');
  expect(run(ralph, 'config').stderr).toContain('did you mean maxIterations?');
  rmSync(join(folder, '.ralph', 'settings.json'));
  const schema = join(folder, 'node_modules', 'ralph-until-done', 'settings.schema.json');
  expect(JSON.parse(readFileSync(schema, 'utf8'))).toMatchObject({ type: 'object' });
  const program = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    const { stdout, stderr } = run(process.execPath, name);
    return stdout + stderr.replaceAll(/^\(.*ExperimentalWarning.*\n\(Use .*\n/gm, '');
  };
  const use = `runLoop({ prompt: 'x', agent: async () => ({ text: '<promise>DONE</promise>' }) }).then(({ stopReason, iterations }) => console.log(stopReason, iterations.length, Object.keys(presets).length));`;
  const imports = `import { runLoop } from 'ralph-until-done';\nimport { presets } from 'ralph-until-done/core';`;
  const requires = `const { runLoop } = require('ralph-until-done');\nconst { presets } = require('ralph-until-done/core');`;
  expect(program('use.mjs', `${imports}\n${use}`)).toBe('done 1 6\n');
  expect(program('use.cjs', `${requires}\n${use}`)).toBe('done 1 6\n');
  const named = `import { RalphLoop } from 'ralph-until-done/architect';
const config = { task: 'x', checks: ['true'], maxIterations: 2 };
const { success, stopReason } = await new RalphLoop(config, () => ({ run: async () => 'COMPLETE' })).run();
console.log(success, stopReason);`;
  expect(program('architect.mjs', named)).toBe('true all_checks_passed\n');
  const session = `const messages = [];
const showToast = ({ title }) => console.log(title);
const hook = createRalphLoopHook({ getMessages: async () => [...messages], showToast });
hook.startLoop('s1', 'x');
messages.push({ role: 'assistant', content: '<promise>DONE</promise>' });
await hook.handler({ event: 'session.idle', sessionId: 's1' });`;
  expect(
    program('hook.mjs', `import { createRalphLoopHook } from 'ralph-until-done/hook';\n${session}`),
  ).toBe('Ralph Loop Started\nRalph Loop Complete!\n');

  // The command and the library estimate the cost with the price table in the package.
  mkdirSync(join(folder, 'bin'));
  const codex = join(folder, 'bin', 'codex');
  const lines = [
    { type: 'item.completed', item: { id: '1', type: 'agent_message', text: '<promise>DONE</promise>' } },
    { type: 'turn.completed', usage: { input_tokens: 1_000_000, output_tokens: 0 } },
  ].map((line) => `echo '${JSON.stringify(line)}'\n`);
  writeFileSync(codex, `#!/bin/sh\ncat >/dev/null\n${lines.join('')}`, { mode: 0o755 });
  env = { ...env, PATH: `${join(folder, 'bin')}:${env['PATH']}` };
  const words = ['run', 'a task', '--json', '--agent', 'codex', '--model', 'gpt-5', '--max-cost', '5'];
  expect(JSON.parse(run(ralph, ...words).stdout)).toMatchObject({
    costUsd: 1.25,
    costSource: 'estimated',
  });
  const price = `const agent = { model: 'gpt-5', run: () => ({ text: '<promise>DONE</promise>', tokens: { input: 1e6 } }) };\nconst { totalCost } = await runLoop({ prompt: 'x', agent });\nconsole.log(totalCost);`;
  expect(program('price.mjs', `import { runLoop } from 'ralph-until-done';\n${price}`)).toBe('1.25\n');

  // The examples and a CommonJS program compile against the types of the package.
  symlinkSync(join(ROOT, 'node_modules', '@types'), join(folder, 'node_modules', '@types'));
  const examples = readdirSync(join(ROOT, 'examples')).filter((file) => file !== 'http-page.ts');
  for (const file of examples) copyFileSync(join(ROOT, 'examples', file), join(folder, file));
  const typed = `import ralph = require('ralph-until-done');\nexport const run: Promise<ralph.LoopResult> = ralph.runLoop({ prompt: 'x', agent: 'claude' });\n`;
  writeFileSync(join(folder, 'typed.cts'), typed);
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      compilerOptions: {
        module: 'nodenext',
        target: 'es2023',
        lib: ['es2023'],
        types: ['node'],
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
      },
      files: [...examples, 'typed.cts'],
    }),
  );
  expect(run(join(ROOT, 'node_modules', '.bin', 'tsc'), '--project', folder).stdout).toBe('');
});

it('is installed beside another package that owns the command ralph, as docs/install.md says', async () => {
  const other = join(folder, 'other');
  const otherRan = join(folder, 'other-ran');
  mkdirSync(other);
  const manifest = { name: 'other-ralph', version: '4.2.0', bin: { ralph: 'ralph.sh' } };
  writeFileSync(join(other, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(other, 'ralph.sh'), `#!/bin/sh\n: > '${otherRan}'\n`, { mode: 0o755 });
  const install = (prefix: string, what: string, ...more: readonly string[]) =>
    spawnSync(
      'npm',
      ['install', '--global', '--prefix', prefix, what, '--offline', '--no-audit', '--no-fund', ...more],
      { cwd: folder, env, encoding: 'utf8' },
    );
  const [theirs, ours] = [join(folder, 'theirs'), join(folder, '.rud')];
  expect(install(theirs, other, '--install-links').status).toBe(0);
  const refused = install(theirs, tarball);
  expect(refused.status).not.toBe(0);
  expect(refused.stderr).toContain('EEXIST');
  expect(realpathSync(join(theirs, 'bin', 'ralph'))).toContain('/node_modules/other-ralph/ralph.sh');

  const page = readFileSync(join(ROOT, 'docs', 'install.md'), 'utf8');
  expect(page).toContain('npm install --global --prefix ~/.rud ralph-until-done\n');
  expect(page).toContain('export PATH="$PATH:$HOME/.rud/bin"\n');
  expect(install(ours, tarball)).toMatchObject({ status: 0 });
  env = { ...env, PATH: `${join(theirs, 'bin')}:${env['PATH']}:${join(ours, 'bin')}` };
  const rud = (...args: readonly string[]) => spawnSync('rud', args, { cwd: folder, env, encoding: 'utf8' });
  expect(rud('--version').stdout).toBe(VERSION);
  const found: unknown = JSON.parse(rud('doctor', '--json').stdout);
  expect(found).toContainEqual({
    what: 'ralph',
    state: 'warning',
    detail: `${join(theirs, 'bin', 'ralph')} belongs to the package other-ralph 4.2.0, not to ralph-until-done`,
    remedy: 'type rud instead of ralph; docs/install.md says how to install it beside the other',
  });
  // What an agent of that loop calls `ralph` is this one.
  const script = 'ralph --version; ralph status nothing; echo "<promise>DONE</promise>"';
  const loop = rud('run', 'a task', '--max-iterations', '1', '--check', 'false', '--', 'sh', '-c', script);
  expect(loop.stdout).toContain(VERSION);
  expect(loop.stderr).toMatch(/\brud resume /);
  expect(loop.stderr).toContain(`sh -c '${script}'`);
  expect(loop.stderr.replace(script, '')).not.toMatch(/(?<!error): ralph |\(ralph /);
  expect(existsSync(otherRan)).toBe(false);
});

it('S1.38 exits on native Windows with an error that names WSL2, before it does anything', () => {
  const fakePlatform = join(folder, 'windows.cjs');
  writeFileSync(fakePlatform, `Object.defineProperty(process, 'platform', { value: 'win32' });`);
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--require', fakePlatform, MAIN, 'run', 'x y', '--', 'true'],
    {
      cwd: folder,
      env,
      encoding: 'utf8',
    },
  );
  expect(status).toBe(2);
  expect(stderr).toMatch(/Windows is not supported: .*process groups[^]*WSL2/);
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toMatch(/Windows.*WSL2/);
});

it('S2.5 prints `dev` as its version if the package has none', () => {
  const copy = join(folder, 'dist', 'cli', 'main.js');
  cpSync(dirname(MAIN), dirname(copy), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}');
  const { status, stdout } = spawnSync(process.execPath, [copy, '--version'], { env, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'dev\n' });
});

function manifestVersion(): string {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own file
  return (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;
}
