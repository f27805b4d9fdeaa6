import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist', 'cli', 'main.js');
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own package.json
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

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
  // Without its scripts: what other tests run must not be built anew beneath them.
  const pack = (path: string): string => {
    const printed = npm('pack', path, '--ignore-scripts', '--pack-destination', folder);
    return `./${printed.trim().split('\n').at(-1) ?? ''}`;
  };
  const types = ['@types/node', 'undici-types'];
  const needed = [...Object.keys(manifest.dependencies), ...types].map((name) =>
    pack(join(ROOT, 'node_modules', name)),
  );
  const tarball = pack(ROOT);
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
  npm('install', tarball, ...needed, '--ignore-scripts', '--no-audit', '--no-fund');
  const run = (command: string, ...args: string[]) =>
    spawnSync(command, args, { cwd: folder, env, encoding: 'utf8' });
  const version = run('npx', '--no-install', 'ralph', '--version');
  expect(version.status).toBe(0);
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const loop = run(
    'npx',
    '--no-install',
    'ralph',
    'run',
    'a task',
    '--json',
    '--',
    'echo',
    '<promise>DONE</promise>',
  );
  expect(JSON.parse(loop.stdout)).toMatchObject({ status: 'done', exitCode: 0, iterations: 1 });
  writeFileSync(join(folder, '.ralph', 'settings.json'), '{ "maximumIteration": 3 }');
  expect(run('npx', '--no-install', 'ralph', 'config').stderr).toContain('did you mean maximumIterations?');
  const schema = join(folder, 'node_modules', 'ralph-loop', 'settings.schema.json');
  expect(JSON.parse(readFileSync(schema, 'utf8'))).toMatchObject({ type: 'object' });
  const program = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    const { stdout, stderr } = run(process.execPath, name);
    return stdout + stderr.replaceAll(/^\(.*ExperimentalWarning.*\n\(Use .*\n/gm, '');
  };
  const use = `runLoop({ prompt: 'x', agent: async () => ({ text: '<promise>DONE</promise>' }) }).then(({ stopReason, iterations }) => console.log(stopReason, iterations.length, Object.keys(presets).length));`;
  expect(program('use.mjs', `import { runLoop, presets } from 'ralph-loop';\n${use}`)).toBe('done 1 6\n');
  expect(program('use.cjs', `const { runLoop, presets } = require('ralph-loop');\n${use}`)).toBe(
    'done 1 6\n',
  );

  const examples = readdirSync(join(ROOT, 'examples'));
  for (const file of examples) copyFileSync(join(ROOT, 'examples', file), join(folder, file));
  const typed = `import ralph = require('ralph-loop');\nexport const run: Promise<ralph.LoopResult> = ralph.runLoop({ prompt: 'x', agent: 'claude' });\n`;
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

it('S1.38 says on native Windows that it needs WSL2, before it does anything', () => {
  const disguise = join(folder, 'windows.cjs');
  writeFileSync(disguise, `Object.defineProperty(process, 'platform', { value: 'win32' });`);
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--require', disguise, MAIN, 'run', 'x y', '--', 'true'],
    {
      cwd: folder,
      env,
      encoding: 'utf8',
    },
  );
  expect(status).toBe(2);
  expect(stderr).toMatch(/Windows has no .*process groups[^]*WSL2/);
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8')).toMatch(/Windows.*WSL2/);
});

it('S2.5 prints `dev` as its version if the package has none', () => {
  const copy = join(folder, 'dist', 'cli', 'main.cjs');
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(MAIN, copy);
  writeFileSync(join(folder, 'package.json'), '{}');
  const { status, stdout } = spawnSync(process.execPath, [copy, '--version'], { env, encoding: 'utf8' });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'dev\n' });
});
