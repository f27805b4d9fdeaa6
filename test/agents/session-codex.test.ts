/** Loops inside a session of the real Codex, with the plugin of this repository, installed by Codex itself. */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { RiggedTmux } from '../rig/cli/tmux.ts';
import { until } from '../rig/cli/until.ts';
import { started, type Ended, type Ralph } from '../scenarios/ralph.ts';
import { openStage, waitFor, type Stage } from '../scenarios/stage.ts';
import { install } from './install.ts';
import { mentions, startModel, type Asked, type Model } from './model-server.ts';
import { withoutRalph } from './path.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { hangs, isLimited, runs, says, USAGE, type Turn } from './script.ts';
import { CHECK, CLAIM, FIX } from './whole-loop.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LONG = { timeout: 60_000, interval: 100 };

/** Codex with the plugin, in a throwaway home and repository, with a scripted model. */
class Session {
  readonly stage: Stage;
  readonly model: Model;
  readonly env: Readonly<Record<string, string>>;
  /** The id of the session that `says` has started last. */
  id = '';
  /** What `ralph hook install` has printed. */
  installed = '';

  private constructor(stage: Stage, model: Model, env: Readonly<Record<string, string>>) {
    this.stage = stage;
    this.model = model;
    this.env = env;
  }

  /** `how` adds the hooks: as the plugin, with Codex's own commands, or with `ralph hook install`. */
  static async open(script: readonly Turn[], how: 'plugin' | 'install' = 'plugin'): Promise<Session> {
    const agent = REAL_AGENTS.codex;
    const bin = await install(agent.package);
    const model = await startModel(script);
    onTestFinished(() => model.close());
    const stage = openStage();
    const home = stage.env['HOME'] ?? '';
    const temporary = join(dirname(home), 'tmp');
    mkdirSync(temporary);
    const ours = dirname(stage.agent);
    writeFileSync(join(ours, 'ralph'), `#!/bin/sh\nexec "${process.execPath}" "${stage.main}" "$@"\n`, {
      mode: 0o755,
    });
    const env = {
      ...stage.env,
      ...agent.prepare({ home, url: model.url }),
      PATH: [ours, bin, withoutRalph(stage.env['PATH'])].join(delimiter),
      TMPDIR: temporary,
    };
    const session = new Session(stage, model, env);
    const config = join(home, '.codex', 'config.toml');
    // It recommends a newer model otherwise.
    writeFileSync(config, `model = "${agent.model}"\n${readFileSync(config, 'utf8')}`);
    appendFileSync(config, `[notice.model_migrations]\n"${agent.model}" = "gpt-6-sol"\n`);
    appendFileSync(config, `[projects."${stage.workspace}"]\ntrust_level = "trusted"\n`);
    if (how === 'install') {
      const { stdout } = await stage.ralph('hook', 'install', 'codex').ended;
      session.installed = stdout;
    } else {
      for (const args of [
        ['marketplace', 'add', ROOT],
        ['add', 'ralph@ralph-until-done'],
      ])
        execFileSync(join(bin, 'codex'), ['plugin', ...args], { env, stdio: 'pipe' });
    }
    return session;
  }

  /** Starts `codex exec` with a prompt, in a new session unless one is resumed. */
  starts(prompt: string, { resume = null, trusted = true }: Options = {}): Ralph {
    const flags = [...AUTONOMOUS, '--json', ...(trusted ? ['--dangerously-bypass-hook-trust'] : [])];
    const argv = ['exec', ...(resume === null ? flags : ['resume', ...flags, resume]), prompt];
    return started(['/usr/bin/env', 'codex', ...argv], { cwd: this.stage.workspace, env: this.env });
  }

  async says(prompt: string, options: Options = {}): Promise<Ended> {
    const ended = await this.starts(prompt, options).ended;
    this.id = idIn(ended.stdout);
    return ended;
  }

  /** Starts `codex exec` and kills it, with its children, when the model has got this number of questions. */
  async dies(prompt: string, questions: number): Promise<void> {
    const codex = this.starts(prompt);
    await this.stage.until(`question ${questions}`, () => this.asked.length === questions);
    this.id = idIn(codex.stdout);
    this.stage.killAll();
    await codex.ended;
  }

  /** The questions to the model. */
  get asked(): readonly Asked[] {
    return this.model.requests.filter(({ turn }) => typeof turn === 'number');
  }

  /** Which questions contain a text. */
  askedWith(text: string): readonly boolean[] {
    return this.asked.map((one) => mentions(one, text));
  }

  /** The sessions that have a loop. */
  get loops(): readonly string[] {
    const folder = join(this.stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'sessions');
    return existsSync(folder) ? readdirSync(folder) : [];
  }

  /** The state of the only loop. */
  get state(): unknown {
    const [name = ''] = this.stage.loops;
    const state: unknown = JSON.parse(readFileSync(this.stage.files(name).path('state.json'), 'utf8'));
    return state;
  }
}

interface Options {
  readonly resume?: string | null;
  readonly trusted?: boolean;
}

/** With a home below /tmp its sandbox does not work. */
const AUTONOMOUS = ['--dangerously-bypass-approvals-and-sandbox'];

function idIn(stdout: string): string {
  return /"thread_id":"([^"]+)"/.exec(stdout)?.[1] ?? '';
}

it('goes on until the promise, with its tokens, and the task reaches the model as it is', async () => {
  const session = await Session.open([says('I begin.'), runs('touch begun'), says('Half.'), says(CLAIM)]);
  const task = 'Fix `id` $(touch pwned) $& it';
  const { code } = await session.says(`/ralph "${task}" --max-iterations=5`);
  expect(code).toBe(0);
  expect(session.askedWith('<ralph-loop-mode iteration="1" max="5">')).toEqual([true, true, true, true]);
  expect(session.askedWith(`The task:\n${task}`)).toEqual([true, true, true, true]);
  expect(session.askedWith('[RALPH LOOP - ITERATION 2/5]')).toEqual([false, true, true, true]);
  expect(session.askedWith('[RALPH LOOP - ITERATION 3/5]')).toEqual([false, false, false, true]);
  expect(session.state).toMatchObject({ outcome: { type: 'done', verified: false }, current_iteration: 3 });
  expect(session.state).toMatchObject({ tokens: { input: 4 * USAGE.input, output: 4 * USAGE.output } });
  expect(session.loops).toEqual([]);
  expect(existsSync(session.stage.path('pwned'))).toBe(false);
});

it('works with ralph hook install too, which says that Codex has to trust its hooks', async () => {
  const session = await Session.open([says('Untrusted.'), says('I begin.'), says(CLAIM)], 'install');
  expect(session.installed).toMatch(/only after you trust them.* open \/hooks/);
  await session.says('$ralph "Work on"', { trusted: false });
  expect([session.asked.length, session.stage.loops]).toEqual([1, []]);
  await session.says('$ralph "Work on"');
  expect(session.state).toMatchObject({ outcome: { type: 'done' }, current_iteration: 2 });
});

it('stops at the limit', async () => {
  const session = await Session.open([says('one'), says('two'), says('three')]);
  await session.says('/ralph "Never ready" --max-iterations=2');
  expect(session.asked).toHaveLength(2);
  expect(session.state).toMatchObject({ outcome: { type: 'iterations-exhausted' } });
  expect(session.loops).toEqual([]);
});

it('S5.1 ends as stuck after as many identical answers as `maxRepeats` says, but not if a tool was called between them', async () => {
  const same = says('I am working on it.');
  const session = await Session.open([same, runs('true'), same, same, same]);
  session.stage.settings({ maxRepeats: 2 });
  await session.says('$ralph "Work on"');
  expect(session.state).toMatchObject({ outcome: { type: 'stuck', unchanged: 2 }, current_iteration: 4 });
  expect([session.asked.length, session.loops]).toEqual([5, []]);
});

it('has the limit of `ralph set` in its next prompt, and ends after `ralph rm`', async () => {
  const waits = (name: string): Turn => runs(`: > "$FAKE_PLAN/${name}-begun"; ${waitFor(name)}`);
  const session = await Session.open([waits('one'), says('one'), waits('two'), says('two')]);
  const { stage } = session;
  const begins = (name: string): Promise<unknown> => stage.waitForFile(join(stage.plan, `${name}-begun`));
  const codex = session.starts('$ralph "Work on"');
  await begins('one');
  await stage.ralph('set', 'work-on-1', 'max-iterations=3').ended;
  stage.release('one');
  await begins('two');
  await stage.ralph('rm', 'work-on-1').ended;
  stage.release('two');
  expect((await codex.ended).code).toBe(0);
  expect(session.askedWith('[RALPH LOOP - ITERATION 2/3]')).toEqual([false, false, true, true]);
  expect(session.loops).toEqual([]);
});

it('is ended by `ralph stop` while a check runs, which ends too', async () => {
  const session = await Session.open([says(CLAIM)]);
  const check = 'touch checking; until [ -e go ]; do sleep 0.1; done';
  const codex = session.starts(`$ralph "Work on" --check "${check}"`);
  await expect.poll(() => existsSync(session.stage.path('checking')), LONG).toBe(true);
  await session.stage.ralph('stop', 'work-on-1').ended;
  await codex.ended;
  expect(session.state).toMatchObject({ outcome: { type: 'stopped' }, current_iteration: 1 });
  expect([session.asked.length, session.loops]).toEqual([1, []]);
});

it('rejects a promise while a check fails, with the output of the check in the next prompt', async () => {
  const session = await Session.open([says(CLAIM), runs(FIX), says(CLAIM)]);
  session.stage.write('check.sh', CHECK);
  await session.says('$ralph "Make the check pass" --check "sh check.sh"');
  expect(session.askedWith('the file is missing')).toEqual([false, true, true]);
  expect(session.state).toMatchObject({ outcome: { type: 'done', verified: true } });
});

it('is cancelled by an interrupt in the middle of a turn, and by a message to the session', async () => {
  const session = await Session.open([
    says('one'),
    hangs(),
    says('alone'),
    says('two'),
    hangs(),
    says('end'),
  ]);
  const codex = session.starts('/ralph "Work on"');
  await expect.poll(() => session.asked.length, LONG).toBe(2);
  expect(session.loops).toHaveLength(1);
  codex.signal('SIGINT');
  await codex.ended;
  expect(session.loops).toEqual([]);
  expect(session.state).toMatchObject({ outcome: { type: 'stopped' } });
  const id = idIn(codex.stdout);
  await session.says('Are you there?', { resume: id });
  expect(session.asked).toHaveLength(3);

  await session.dies('/ralph "Work on"', 5);
  expect(session.loops).toEqual([session.id]);
  await session.says('/cancel-ralph', { resume: session.id });
  expect(session.loops).toEqual([]);
  await session.says('Are you there?', { resume: session.id });
  expect(session.asked).toHaveLength(6);
});

it('survives a restart of Codex, and touches no other session in the same folder', async () => {
  const session = await Session.open([says('one'), hangs(), says(CLAIM), says('I am back.'), says(CLAIM)]);
  await session.dies('/ralph "Work on"', 2);
  const { id } = session;
  expect(session.loops).toEqual([id]);

  await session.says('Something else');
  expect(session.id).not.toBe(id);
  expect([session.asked.length, session.loops]).toEqual([3, [id]]);
  expect(session.state).toMatchObject({ outcome: null, current_iteration: 2 });

  await session.says('Go on', { resume: id });
  expect(session.askedWith('[RALPH LOOP - ITERATION 3/100]')).toEqual([false, false, false, false, true]);
  expect(session.state).toMatchObject({ outcome: { type: 'done' }, current_iteration: 3 });
  expect(session.loops).toEqual([]);
});

it('lets the session go at a usage limit, and continues with its next turn', async () => {
  const session = await Session.open([says('one'), isLimited(600), says('two'), says(CLAIM)]);
  const { stdout, code } = await session.says('/ralph "Work on"');
  expect([code, session.asked.length]).toEqual([1, 2]);
  expect(stdout).toContain('hit your usage limit');
  expect(session.loops).toEqual([session.id]);
  await session.says('Go on', { resume: session.id });
  expect(session.asked).toHaveLength(4);
  expect(session.state).toMatchObject({ outcome: { type: 'done' } });
});

it('does nothing while its hooks are not trusted', async () => {
  const session = await Session.open([says('one'), says('two')]);
  const { code } = await session.says('$ralph:ralph "Work on"', { trusted: false });
  expect([code, session.asked.length]).toEqual([0, 1]);
  expect(session.loops).toEqual([]);
  expect(session.stage.loops).toEqual([]);
  // The skill tells the agent what to say then.
  expect(session.askedWith('Codex runs a hook only after you trust it')).toEqual([true]);
});

/** Codex in a window, once a person has trusted its hooks. */
async function openTerminal({ stage, env }: Session) {
  const tmux = new RiggedTmux(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph'));
  const pane = (): string => tmux.screen('it');
  const shows = (text: string): Promise<true> =>
    until(text, () => (pane().includes(text) ? true : null), { seen: pane });
  const types = async (text: string): Promise<void> => {
    tmux.ask('send-keys', '-t', '=ralph:=it', '-l', text);
    await shows(text);
    tmux.ask('send-keys', '-t', '=ralph:=it', 'Enter');
  };
  const ends = async (): Promise<void> => {
    tmux.tearDown();
    await stage.until('the end of Codex', () => stage.running.length === 0);
  };
  const given = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const size = ['-d', '-x', '150', '-y', '50', '-c', stage.workspace];
  const command = ['env', `PATH=${env['PATH']}`, 'codex', '--no-daemon', ...AUTONOMOUS];
  tmux.ask('-f', '/dev/null', 'new-session', '-s', 'ralph', '-n', 'it', ...size, ...given, ...command);
  onTestFinished(() => tmux.tearDown());

  await shows('Hooks need review');
  // Codex drops keys that come before it listens.
  let pressedAt = 0;
  await until(
    'the second choice',
    () => {
      if (pane().includes('› 2. Trust all and continue')) return true;
      if (performance.now() - pressedAt > 3000) {
        tmux.ask('send-keys', '-t', '=ralph:=it', 'Down');
        pressedAt = performance.now();
      }
      return null;
    },
    { seen: pane },
  );
  tmux.ask('send-keys', '-t', '=ralph:=it', 'Enter');
  await shows('Ask Codex to do anything');
  return { pane, shows, types, ends };
}

it(
  'asks for trust in its terminal, starts a loop there, and is cancelled while a tool runs',
  { tags: ['tmux'] },
  async () => {
    const session = await Session.open([runs(`: > "$FAKE_PLAN/begun"; ${waitFor()}`), says('Half.')]);
    const { stage } = session;
    const { pane, shows, types, ends } = await openTerminal(session);
    await types(' /ralph "Work on" --max-iterations=5');
    await shows('Ralph loop started: at most 5 iterations');
    await until('the tool', () => (stage.hasPlanFile('begun') ? true : null), { seen: pane });
    await types(' /cancel-ralph');
    await shows('Messages to be submitted after next tool call');
    stage.release();
    await shows('Ralph loop cancelled at iteration 1.');
    await shows('Worked for');
    expect(session.loops).toEqual([]);
    expect(session.state).toMatchObject({ outcome: { type: 'stopped' } });
    expect(session.askedWith('RALPH LOOP - ITERATION').includes(true)).toBe(false);
    await ends();
  },
);

it('mentions the loop of another session at the start of a session', { tags: ['tmux'] }, async () => {
  const session = await Session.open([says('one'), hangs(), says('Welcome.')]);
  await session.dies('/ralph "Work on"', 2);
  const { shows, types, ends } = await openTerminal(session);
  await types('Hello.');
  // The rest of the id is on the next line.
  await shows(`codex resume ${session.id.slice(0, 13)}`);
  await shows('ralph stop work-on-1');
  await shows('Welcome.');
  expect(session.loops).toEqual([session.id]);
  await ends();
});

it('says that Ralph is missing, and the loop stays', { tags: ['tmux'] }, async () => {
  const session = await Session.open([runs(`: > "$FAKE_PLAN/begun"; ${waitFor()}`), says('one')]);
  const { stage } = session;
  const { pane, shows, types, ends } = await openTerminal(session);
  await types(' /ralph "Work on" --max-iterations=5');
  await until('the tool', () => (stage.hasPlanFile('begun') ? true : null), { seen: pane });
  rmSync(join(dirname(stage.agent), 'ralph'));
  stage.release();
  await shows('Ralph loop: not continued: the command ralph is not on the PATH.');
  expect(session.askedWith('RALPH LOOP - ITERATION')).not.toContain(true);
  expect(session.loops).toHaveLength(1);
  await ends();
});
