/** Prompts without text, and prompts that come from a pipe. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../rig/cli/until.ts';
import { openLoadedStage, openStage, type Stage } from './stage.ts';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const EMPTY = 'the prompt is empty';

describe('a prompt without text', () => {
  it.each([
    ['a blank task', ['run', '  '], `${EMPTY}; write down what the agent should do`],
    ['a blank --prompt', ['run', '-p', ' \n\t'], `${EMPTY}; `],
    ['an empty file', ['run', '-f', 'empty.md'], `${EMPTY}: empty.md has no text; `],
    ['a blank file', ['run', '-f', 'blank.md'], `${EMPTY}: blank.md has no text; `],
    ['empty stdin', ['run', '-f', '-'], `${EMPTY}: stdin has no text; `],
    ['a blank --prompt of ralph-cli', ['run', '-p', ' ', '--preset', 'ralph-cli'], `${EMPTY}; `],
    ['an empty spec', ['loop', '--check', 'true', '--spec', 'empty.md'], `${EMPTY}: empty.md has no text; `],
    [
      'a blank spec beside a task',
      ['loop', 'a task', '--check', 'true', '--spec', 'blank.md'],
      `${EMPTY}: blank.md has no text; `,
    ],
  ])('is refused: %s', async (_, args, message) => {
    const stage = openLoadedStage();
    stage.write('empty.md', '');
    stage.write('blank.md', ' \n\n');
    const { code, stderr } = await stage.ralph(...args, '--', stage.agent).ended;
    expect(stderr).toContain(`ralph: error: ${message}`);
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 0 });
    expect(existsSync(stage.path('.ralph/loops'))).toBe(false);
  });

  it.each([
    [
      'a device',
      ['run', '-f', '/dev/zero'],
      'cannot access prompt file: /dev/zero: it is a device; name a regular file',
    ],
    [
      'a terminal',
      ['run', '-f', '/dev/tty'],
      'cannot access prompt file: /dev/tty: it is a device; name a regular file',
    ],
    [
      'a device as a spec',
      ['loop', 'x', '--check', 'true', '--spec', '/dev/null'],
      'cannot access spec file: /dev/null: it is a device',
    ],
    [
      'a long file',
      ['run', '-f', 'long.md'],
      'cannot access prompt file: long.md: it is too long for a prompt (maximum 10 MB)',
    ],
  ])('is refused without an end: %s', async (_, args, message) => {
    const stage = openLoadedStage();
    stage.write('long.md', 'x'.repeat(10 * 2 ** 20 + 1));
    const { code, stderr } = await stage.ralph(...args, '--', stage.agent).ended;
    expect(stderr).toContain(`ralph: error: ${message}`);
    expect({ code, calls: stage.calls, loops: stage.loops }).toEqual({ code: 2, calls: 0, loops: [] });
  });

  it('is refused from a pipe that never ends', async () => {
    const stage = openStage();
    const refused = 'ralph: error: cannot read the prompt: stdin is too long for a prompt (maximum 10 MB)\n';
    const piped = await stage.shell('yes | $RALPH run -f - -- true').ended;
    expect(piped).toMatchObject({ code: 2, stderr: refused });
    const device = await stage.shell('$RALPH run -f - -- true </dev/zero').ended;
    expect(device).toMatchObject({ code: 2, stderr: refused });
  });

  it.each([
    ['ralph-cli', ['-f', 'empty.md']],
    ['swarm', ['-f', 'empty.md']],
    ['swarm', ['-p', ' ']],
  ])('S4.26 is passed on by preset %s with %j, with a warning', async (preset, args) => {
    const stage = openLoadedStage();
    stage.write('empty.md', '');
    const { stderr } = await stage.run(...args, '--preset', preset, '-m', '1');
    expect(stage.calls).toBe(1);
    expect(stderr).toMatch(
      /warning: the prompt is empty(: empty\.md has no text)?; the agent gets no task\n/,
    );
  });
});

/** A named pipe in the workspace. */
function pipeIn(stage: Stage): string {
  const path = stage.path('pipe');
  execFileSync('mkfifo', [path]);
  return path;
}

describe('a prompt from a pipe', () => {
  it.each([
    ['run', ['run', '-f', 'pipe'], 'build a bridge\n'],
    ['loop', ['loop', '--check', 'true', '--spec', 'pipe'], '## Task Specification\n\nbuild a bridge\n'],
  ])('is read once by ralph %s and kept for every iteration and for a resume', async (_, args, expected) => {
    const stage = openStage();
    const pipe = pipeIn(stage);
    const started = stage.ralph(...args, '--name', 'it', '-m', '2', '--', stage.agent);
    writeFileSync(pipe, 'build a bridge\n');
    expect((await started.ended).code).toBe(1);
    rmSync(pipe);
    const resumed = await stage.ralph('resume', 'it', '-m', '3').ended;
    expect(resumed.code).toBe(1);
    expect(stage.calls).toBe(3);
    for (const call of [1, 2, 3]) expect(stage.given(call, 'stdin')).toContain(expected.trimEnd());
  });

  it('is read from the process substitution of a shell', async () => {
    const stage = openStage();
    const { code } = await stage.shell(
      `bash -c '$RALPH run --name it -m 1 -f <(echo build a bridge) -- ${stage.agent}'`,
    ).ended;
    expect(code).toBe(1);
    expect(stage.given(1, 'stdin')).toContain('build a bridge');
  });

  it.runIf(process.platform === 'linux').each([
    ['run', ['run', '-f', 'pipe']],
    ['loop', ['loop', '--check', 'true', '--spec', 'pipe']],
  ])('without a writer can be interrupted by Ctrl-C in ralph %s', async (_, args) => {
    const stage = openStage();
    pipeIn(stage);
    const child = spawn(process.execPath, [MAIN, ...args, '--', stage.agent], {
      cwd: stage.workspace,
      env: stage.env,
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    await blocks(child.pid ?? 0);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
    expect(existsSync(stage.path('.ralph/loops'))).toBe(false);
  });
});

/** Waits until the main thread of a process waits for the other end of a pipe. */
function blocks(pid: number): Promise<true> {
  return until('a blocked process', () =>
    readFileSync(`/proc/${pid}/wchan`, 'utf8') === 'wait_for_partner' ? true : null,
  );
}

it('a prompt file that the agent replaced by a FIFO does not block the loop', async () => {
  const stage = openLoadedStage();
  stage.write('task.md', 'a task');
  stage.plans(1, 'rm task.md && mkfifo task.md');
  const { stderr } = await stage.run('-f', 'task.md', '-m', '2');
  expect(stderr).toContain('task.md (it is not a regular file)');
});
