/** Loops inside a session of the real Claude Code, with the plugin of this repository. */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../rig/cli/until.ts';
import { started, type Ended, type Ralph } from '../scenarios/ralph.ts';
import { openStage, type JournalEvent, type Stage } from '../scenarios/stage.ts';
import { install } from './install.ts';
import { at } from './json.ts';
import { mentions, startModel, type Asked, type Model } from './model-server.ts';
import { withoutRalph } from './path.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { calls, fails, hangs, isLimited, runs, says, USAGE, type Turn } from './script.ts';
import { CHECK, CLAIM, FIX } from './whole-loop.ts';

const PLUGIN = fileURLToPath(new URL('../../plugins/claude-code', import.meta.url));
const SESSION = '11111111-2222-4333-8444-555555555555';
const OTHER = '99999999-2222-4333-8444-555555555555';
/** A turn that lasts until the file `go` exists. */
const WAITS = runs('until [ -e go ]; do sleep 0.1; done');

/** Claude Code in a throwaway home and repository, with a scripted model. */
class Session {
  readonly stage: Stage;
  readonly model: Model;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(stage: Stage, model: Model, env: Readonly<Record<string, string>>) {
    this.stage = stage;
    this.model = model;
    this.#env = env;
  }

  static async open(script: readonly Turn[]): Promise<Session> {
    const agent = REAL_AGENTS.claude;
    const bin = await install(agent.package);
    const model = await startModel(script);
    onTestFinished(() => model.close());
    const stage = openStage();
    const home = stage.env['HOME'] ?? '';
    const temporary = join(dirname(home), 'tmp');
    mkdirSync(temporary);
    const env = agent.prepare({ home, url: model.url });
    const path = `${bin}${delimiter}${stage.env['PATH']}`;
    return new Session(stage, model, { ...stage.env, ...env, PATH: path, TMPDIR: temporary });
  }

  /** Starts Claude Code with a prompt; `id` is a new session unless it is resumed. */
  starts(prompt: string, { env = {}, ...options }: Options = {}): Ralph {
    return started(argvOf([prompt], options), { cwd: this.stage.workspace, env: { ...this.#env, ...env } });
  }

  talks({ env = {}, ...options }: Options = {}): Talk {
    const argv = argvOf(['--input-format', 'stream-json'], options);
    return new Talk(argv, this.stage.workspace, { ...this.#env, ...env });
  }

  says(prompt: string, options: Options = {}): Promise<Ended> {
    return this.starts(prompt, options).ended;
  }

  get path(): string {
    return this.#env['PATH'] ?? '';
  }

  /** The questions to the model. */
  get asked(): readonly Asked[] {
    return this.model.requests.filter(({ turn }) => typeof turn === 'number');
  }

  /** The journal of the only loop. */
  get journal(): readonly JournalEvent[] {
    return this.stage.journalOf(this.stage.loops[0] ?? '');
  }

  /** Waits until the loop has noticed the usage limit: Claude Code does not wait for the hook of an error. */
  async hasWaited(): Promise<void> {
    const failed = (): boolean => this.journal.some(({ type, as }) => type === 'run.ended' && as !== 'ok');
    await until('the end of the run', () => (failed() ? true : null));
  }

  /** The sessions that have a loop. */
  get loops(): readonly string[] {
    const folder = join(this.stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'sessions');
    return existsSync(folder) ? readdirSync(folder) : [];
  }
}

/** Claude Code that takes prompts while it works, as its terminal interface does. */
class Talk {
  readonly #child;
  readonly ended: Promise<void>;
  stdout = '';

  constructor(argv: readonly string[], cwd: string, env: Readonly<Record<string, string>>) {
    const [command = '', ...args] = argv;
    this.#child = spawn(command, args, { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.ended = new Promise((resolve) => {
      this.#child.once('close', () => resolve());
    });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
  }

  says(content: string): void {
    this.#child.stdin.write(`${JSON.stringify({ type: 'user', message: { role: 'user', content } })}\n`);
  }

  async prints(text: RegExp): Promise<void> {
    await until(String(text), () => text.exec(this.stdout), { seen: () => this.stdout });
  }

  async leaves(): Promise<void> {
    this.#child.stdin.end();
    await this.ended;
  }
}

function argvOf(
  prompt: readonly string[],
  { id = SESSION, resume = false, plugin = PLUGIN }: Options,
): readonly string[] {
  const session = resume ? ['--resume', id] : ['--session-id', id];
  const output = ['--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'];
  const { model } = REAL_AGENTS.claude;
  // `env` finds the command on the PATH of the session.
  return [
    '/usr/bin/env',
    'claude',
    '-p',
    ...prompt,
    ...session,
    ...output,
    '--plugin-dir',
    plugin,
    '--model',
    model,
  ];
}

interface Options {
  readonly id?: string;
  readonly resume?: boolean;
  readonly plugin?: string;
  readonly env?: Readonly<Record<string, string>>;
}

it('goes on until the promise, with its tokens, and the task reaches the model as it is', async () => {
  const session = await Session.open([says('I begin.'), runs('touch begun'), says('Half.'), says(CLAIM)]);
  const task = 'Fix `id` $(touch pwned) $& it';
  const { stdout } = await session.says(`/ralph "${task}" --max-iterations=5`);
  expect(stdout).toContain('Ralph loop started: at most 5 iterations');
  expect(stdout).toMatch(/ended after 3 iterations, \$0\.01: done/);
  const [first, ...more] = session.asked;
  expect(first !== undefined && mentions(first, '<ralph-loop-mode iteration="1" max="5">')).toBe(true);
  expect(more.map((one) => mentions(one, `Original task:\n${task}`))).toEqual([true, true, true]);
  expect(session.loops).toEqual([]);
  expect(existsSync(session.stage.path('pwned'))).toBe(false);
  const used = session.journal.flatMap(({ type, run, tokens }) =>
    type === 'run.output' ? [[String(run), at(tokens, 'input')] as const] : [],
  );
  expect([...new Map(used).values()]).toEqual([1, 2, 1].map((count) => count * USAGE.input));
});

it('stops at the limit', async () => {
  const session = await Session.open([says('one'), says('two'), says('three')]);
  const { stdout } = await session.says('/ralph "Never ready" --max-iterations=2');
  expect(stdout).toMatch(/ended after 2 iterations/);
  expect(session.asked).toHaveLength(2);
  expect(session.loops).toEqual([]);
});

it('S5.1 ends as stuck after as many identical answers as `maxRepeats` says, but not if a tool was called between them', async () => {
  const same = says('I am working on it.');
  const session = await Session.open([same, runs('true'), same, same, same]);
  session.stage.settings({ maxRepeats: 2 });
  const { stdout } = await session.says('/ralph "Work on"');
  expect(stdout).toMatch(/ended after 4 iterations.*: stuck: the same answer 2 times in a row/);
  expect(session.asked).toHaveLength(5);
  expect(session.loops).toEqual([]);
});

it('is told that `ralph set` has changed its limit and that `ralph rm` has removed it', async () => {
  const waitsForEnd = runs('until [ -e end ]; do sleep 0.1; done');
  const session = await Session.open([WAITS, says('one'), waitsForEnd, says('two')]);
  const claude = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(1);
  await session.stage.ralph('set', 'work-on-1', 'max-iterations=3').ended;
  session.stage.write('go', '');
  await claude.until('Ralph loop: iteration 2 of 3', 'stdout');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(3);
  await session.stage.ralph('rm', 'work-on-1').ended;
  session.stage.write('end', '');
  const { stdout } = await claude.ended;
  expect(stdout).toMatch(/Ralph loop work-on-1\S* was removed; this session has no loop any more/);
  expect(session.loops).toEqual([]);
});

it('is ended by `ralph stop` while a check runs, which ends too', async () => {
  const session = await Session.open([says(CLAIM)]);
  const check = 'touch checking; until [ -e go ]; do sleep 0.1; done';
  const claude = session.starts(`/ralph "Work on" --check "${check}"`);
  await expect.poll(() => existsSync(session.stage.path('checking')), { timeout: 30_000 }).toBe(true);
  await session.stage.ralph('stop', 'work-on-1').ended;
  const { stdout } = await claude.ended;
  expect(stdout).toMatch(/ended after 1 iteration.*: cancelled by a person/);
  expect([session.asked.length, session.loops]).toEqual([1, []]);
});

it('is cancelled in the middle of a turn, by a command that Claude Code runs only after the turn', async () => {
  const session = await Session.open([says('one'), WAITS, says('two'), says('three')]);
  const claude = session.talks();
  claude.says('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(2);
  claude.says('/cancel-ralph');
  session.stage.write('go', '');
  await claude.prints(/Ralph loop cancelled at iteration 2\./);
  await claude.leaves();
  expect(session.asked).toHaveLength(3);
  expect(session.loops).toEqual([]);
});

it('is cancelled after Claude Code was killed', async () => {
  const session = await Session.open([says('one'), hangs()]);
  const claude = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(2);
  claude.signal('SIGKILL');
  await claude.ended;
  expect(session.loops).toEqual([SESSION]);
  const { stdout } = await session.says('/ralph:cancel-ralph', { resume: true });
  expect(stdout).toContain('Ralph loop cancelled at iteration 2.');
  expect(session.loops).toEqual([]);
  expect(session.asked).toHaveLength(2);
});

it('survives a restart of Claude Code', async () => {
  const session = await Session.open([says('one'), hangs(), says('I am back.'), says(CLAIM)]);
  const claude = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(2);
  claude.signal('SIGKILL');
  await claude.ended;
  const { stdout } = await session.says('go on', { resume: true });
  expect(stdout).toContain('Ralph loop: iteration 3 of 100');
  expect(stdout).toMatch(/ended after 3 iterations.*done/);
  expect(session.loops).toEqual([]);
});

it('says that Ralph is missing, and the loop stays', async () => {
  const session = await Session.open([says('one'), hangs(), says('I am back.')]);
  const claude = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(2);
  claude.signal('SIGKILL');
  await claude.ended;
  // Away from its package, the plugin calls the `ralph` of the PATH.
  const plugin = session.stage.path('plugin');
  cpSync(PLUGIN, plugin, { recursive: true });
  const env = { PATH: withoutRalph(session.path) };
  const { stdout } = await session.says('go on', { resume: true, plugin, env });
  expect(stdout).toContain('Ralph loop: not continued: the command ralph is not on the PATH.');
  expect([session.asked.length, session.loops]).toEqual([3, [SESSION]]);
});

it('never touches a second session in the same folder', async () => {
  const session = await Session.open([says('one'), hangs(), says(CLAIM), says('more')]);
  const claude = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, { timeout: 30_000 }).toBe(2);
  const { stdout } = await session.says('Something else', { id: OTHER });
  expect(stdout).toContain(`To continue it: claude --resume ${SESSION}; to end it: ralph stop work-on-1`);
  expect(stdout).not.toContain('[RALPH LOOP');
  expect(session.asked).toHaveLength(3);
  expect(session.loops).toEqual([SESSION]);
  claude.signal('SIGKILL');
  await claude.ended;
});

it('rejects a promise while a check fails, and the next prompt has its output', async () => {
  const session = await Session.open([says(CLAIM), runs(FIX), says(CLAIM)]);
  session.stage.write('check.sh', CHECK);
  const { stdout } = await session.says('/ralph "Make the check pass" --check "sh check.sh"');
  expect(stdout).toContain('the promise was rejected, because a check failed: sh check.sh');
  expect(stdout).toMatch(/ended after 2 iterations.*done/);
  expect(session.asked.map((one) => mentions(one, 'the file is missing'))).toEqual([false, true, true]);
});

it('lets go at a usage limit until it resets, and continues after it', async () => {
  const session = await Session.open([says('one'), isLimited(3600), says(CLAIM)]);
  // Claude Code reads the reset time only with the login of a subscription.
  const env = { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-none' };
  const claude = session.talks({ env });
  claude.says('/ralph "Work on"');
  await claude.prints(/You've hit your 5-hour limit/);
  await session.hasWaited();
  expect(session.asked).toHaveLength(2);
  claude.says('/ralph-status');
  await claude.prints(/Waiting for: usage limit until \d\d:\d\d/);
  claude.says('go on');
  await claude.prints(/ended after 2 iterations.*done/);
  await claude.leaves();
  expect(session.asked).toHaveLength(3);
  expect(session.loops).toEqual([]);
});

it('lets go at another error of the API, and continues with the next prompt', async () => {
  const session = await Session.open([says('one'), fails('out-of-credit'), says(CLAIM)]);
  const { code } = await session.says('/ralph "Work on"');
  expect(code).toBe(1);
  expect(session.asked).toHaveLength(2);
  expect(session.loops).toEqual([SESSION]);
  const { stdout } = await session.says('go on', { resume: true });
  expect(stdout).toMatch(/ended after 2 iterations.*done/);
});

it('lets go before Claude Code would override it, and the next prompt continues', async () => {
  const session = await Session.open([says('one'), says('two'), says('three'), says(CLAIM)]);
  const { stdout: before } = await session.says('/ralph "Work on"', {
    env: { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '2' },
  });
  expect(before).toContain('To raise this limit, set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP');
  expect(before).not.toContain('overriding and ending turn');
  const { stdout } = await session.says('go on', { resume: true });
  expect(stdout).toMatch(/ended after 4 iterations.*done/);
  const last = session.asked.at(-1);
  expect(
    last !== undefined &&
      mentions(last, 'UserPromptSubmit hook additional context: [RALPH LOOP - ITERATION 4/100]'),
  ).toBe(true);
});

it('changes nothing while a background task runs', async () => {
  const input = {
    command: 'until [ -e go ]; do sleep 0.1; done',
    run_in_background: true,
    description: 'waits',
  };
  const session = await Session.open([calls('Bash', input), says(CLAIM), says('It has ended.')]);
  const claude = session.starts('/ralph "Work on"');
  await claude.until('waiting for 1 background task (waits)', 'stdout');
  expect(session.loops).toEqual([SESSION]);
  session.stage.write('go', '');
  const { stdout } = await claude.ended;
  expect(stdout).toMatch(/ended after 1 iteration,.*done/);
});

it('tells the agent what to say if hooks are switched off', async () => {
  const session = await Session.open([says('one')]);
  session.stage.write('.claude/settings.json', '{"disableAllHooks":true}');
  const { stdout } = await session.says('/ralph "Work on"');
  expect(stdout).not.toContain('Ralph loop started');
  const [first] = session.asked;
  expect(
    first !== undefined && mentions(first, 'Ralph could not\n  start a loop, because its hook did not run'),
  ).toBe(true);
  expect(first !== undefined && mentions(first, '<ralph-loop-mode iteration')).toBe(false);
  expect(session.loops).toEqual([]);
});
