import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const LIBRARY = new URL('../../dist/index.js', import.meta.url).href;
const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;
const EMBEDDED = new URL('../fixtures/embeds-loops.mjs', import.meta.url).pathname;

let folder: string;
let started: ChildProcess[];
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-program-')));
  mkdirSync(join(folder, 'work'));
  started = [];
});
afterEach(() => {
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const env = (): NodeJS.ProcessEnv => ({
  PATH: process.env['PATH'],
  HOME: folder,
  XDG_STATE_HOME: join(folder, 'state'),
});

/** Starts a program that uses the library, and waits for its first output. */
async function start(program: string): Promise<{ readonly child: ChildProcess; readonly printed: string }> {
  const text = `import { appendFileSync, writeFileSync } from 'node:fs';\nimport * as ralph from ${JSON.stringify(LIBRARY)};\n${program}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
    cwd: join(folder, 'work'),
    env: env(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const printed = await new Promise<string>((resolve) => {
    child.stdout.setEncoding('utf8').once('data', resolve);
  });
  return { child, printed };
}

const AGENT = `const agent = async ({ run, report }) => {
  appendFileSync('calls', run + '\\n');
  report({ type: 'text', text: 'in ' + run });
  if (run === '1.1') { console.log('working'); await new Promise(() => setInterval(() => {}, 1000)); }
  return { text: '<promise>DONE</promise>' };
};`;

it('a loop whose program was killed does not call the agent again for the same run, but continues with the next', async () => {
  const first = await start(`${AGENT} await ralph.runLoop({ prompt: 'go', name: 'mine', agent });`);
  expect(first.printed).toBe('working\n');
  first.child.kill('SIGKILL');
  await once(first.child, 'exit');
  const ralph = (...words: string[]): string => {
    const options = { cwd: join(folder, 'work'), env: env(), encoding: 'utf8' } as const;
    const { stdout, stderr } = spawnSync(process.execPath, [MAIN, ...words], options);
    return stdout + stderr;
  };
  expect(ralph('resume', 'mine')).toContain('is a function of the program that started it');
  const second = await start(
    `${AGENT} const loop = await ralph.resumeLoop('mine', { agent }); console.log(JSON.stringify(await loop.run()));`,
  );
  expect(JSON.parse(second.printed)).toMatchObject({
    success: true,
    iterations: [{ error: 'agent exited, exit code unknown' }, { error: null }],
  });
  expect(readFileSync(join(folder, 'work', 'calls'), 'utf8')).toBe('1.1\n2.1\n');
  // The command line shows it like any other loop.
  expect(ralph('logs', 'mine', '--run', '1')).toContain('in 1.1');
  expect(ralph('status', 'mine')).toContain('done');
});

it('a program that runs loops of every kind gets not one byte on its stdout and stderr', () => {
  const work = join(folder, 'work');
  mkdirSync(join(work, 'tasks', 'one'), { recursive: true });
  const git = (...args: string[]): unknown => execFileSync('git', args, { cwd: work, env: env() });
  git('init', '--quiet');
  git('config', 'user.name', 'a');
  git('config', 'user.email', 'a@b');
  git('commit', '--quiet', '--allow-empty', '--message', 'begin');
  const { status, stdout, stderr } = spawnSync(process.execPath, [EMBEDDED, join(folder, 'happened')], {
    cwd: work,
    env: env(),
    timeout: 50_000,
  });
  expect({ status, stdout: stdout.toString(), stderr: stderr.toString() }).toEqual({
    status: 0,
    stdout: '',
    stderr: '',
  });
  expect(JSON.parse(readFileSync(join(folder, 'happened'), 'utf8'))).toEqual({
    checked: {
      success: true,
      totalIterations: 3,
      checks: [false, false, true],
      errors: [null, 'the agent tripped', null],
      wasTold: true,
      saw: ['text', 'tool.end', 'check.finished', 'control.received'],
    },
    scripted: { stopReason: 'max_iterations', totalIterations: 2, exitCode: 1 },
    stopped: ['stopped', 'paused'],
    documented: { success: true, hasWorktree: true, isRemoved: true },
    refused: ['UserError', expect.stringContaining('unknown agent "no-such-agent"'), 'stopped'],
  });
});

it('the library loads no engine, parser, schema or terminal prompt before a program creates a loop', () => {
  const program = join(folder, 'loaded.mjs');
  const hooks = join(folder, 'hooks.mjs');
  writeFileSync(
    hooks,
    `import { appendFileSync } from 'node:fs';\nexport async function load(url, context, next) { appendFileSync(${JSON.stringify(join(folder, 'loaded'))}, url + '\\n'); return next(url, context); }`,
  );
  writeFileSync(
    program,
    `import { register } from 'node:module';\nregister(${JSON.stringify(`file://${hooks}`)});\nawait import(${JSON.stringify(LIBRARY)});`,
  );
  execFileSync(process.execPath, [program], { env: env() });
  const loaded = readFileSync(join(folder, 'loaded'), 'utf8').split('\n');
  expect(loaded.length).toBeGreaterThan(5);
  expect(
    loaded.filter((url) =>
      /zod|clack|commander|yaml|jsonc|genai-prices|\/(?:engine|loops|owner|workspace|home|bus|agents|hosts|process|git)\//.test(
        url,
      ),
    ),
  ).toEqual([]);
});
