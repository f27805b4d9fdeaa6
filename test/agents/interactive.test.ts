/**
 * The terminal interfaces of real CLIs in a tmux window: `ralph spawn --interactive`.
 *
 * @module-tag tmux
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { RiggedTmux } from '../rig/cli/tmux.ts';
import { until } from '../rig/cli/until.ts';
import { openStage } from '../scenarios/stage.ts';
import { install } from './install.ts';
import { mentions, startModel } from './model-server.ts';
import { REAL_AGENTS, type RealAgent } from './real-agent.ts';
import { says } from './script.ts';
import { endedWith } from './whole-loop.ts';

const LONG = { timeout: 60_000, interval: 200 };
const TASK = 'Do the next task of the plan.\nWhen there is none left, print ALL TASKS DONE.';

const INTERFACES: readonly Interface[] = [
  {
    agent: REAL_AGENTS.claude,
    asksPerPrompt: 1,
    // The welcome and the question about the key come first otherwise.
    prepare: (home, { ANTHROPIC_API_KEY: key = '' }) =>
      writeFileSync(
        join(home, '.claude.json'),
        JSON.stringify({
          hasCompletedOnboarding: true,
          customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
        }),
      ),
    question: 'Yes, I trust this folder',
    selects: { key: 'Down', shows: '❯ Yes' },
    trusted: (home) =>
      readFileSync(join(home, '.claude.json'), 'utf8').includes('"hasTrustDialogAccepted": true'),
  },
  {
    agent: REAL_AGENTS.codex,
    // Also for a title, with tools.
    asksPerPrompt: 2,
    // It recommends a newer model otherwise.
    prepare: (home) => {
      const file = join(home, '.codex', 'config.toml');
      writeFileSync(file, `model = "gpt-5.5"\n${readFileSync(file, 'utf8')}`);
      appendFileSync(file, '[notice.model_migrations]\n"gpt-5.5" = "gpt-6-sol"\n');
    },
    question: 'Trust this folder?',
    selects: null,
    trusted: (home) => readFileSync(join(home, '.codex', 'config.toml'), 'utf8').includes('trust_level'),
  },
];

interface Interface {
  readonly agent: RealAgent;
  /** How many questions to the model follow a prompt. */
  readonly asksPerPrompt: number;
  readonly prepare: (home: string, env: Readonly<Record<string, string>>) => void;
  /** What it asks before it works in a new folder, and the key that selects the answer yes. */
  readonly question: string;
  readonly selects: { readonly key: string; readonly shows: string } | null;
  /** Whether it has saved the permission. */
  readonly trusted: (home: string) => boolean;
}

it.each(INTERFACES)(
  '$agent.name asks whether to trust the folder, gets its prompt once a person has answered, is inactive, and then done',
  async ({ agent, asksPerPrompt, prepare, question, selects, trusted }) => {
    const bin = await install(agent.package);
    const first = Array.from({ length: asksPerPrompt }, () => says('The first task is finished.'));
    const model = await startModel([...first, says('ALL TASKS DONE')]);
    onTestFinished(() => model.close());
    const stage = openStage();
    const home = stage.env['HOME'] ?? '';
    const temporary = join(dirname(home), 'tmp');
    mkdirSync(temporary);
    const env = agent.prepare({ home, url: model.url });
    prepare(home, env);
    Object.assign(stage.env, env, {
      PATH: `${bin}${delimiter}${stage.env['PATH']}`,
      TMPDIR: temporary,
    });
    stage.write('TASK.md', TASK);
    const options = ['-f', 'TASK.md', '-m', '3', '--inactivity-timeout', '8'];
    const pattern = ['--done-pattern', 'ALL TASKS DONE'];
    endedWith(
      0,
      await stage.ralph('spawn', '--name', 'it', ...options, ...pattern, '--interactive', '--', agent.name)
        .ended,
    );

    const state = join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph');
    const tmux = new RiggedTmux(state);
    const log = join(state, 'daemon', 'daemon.log');
    const screen = (): string => tmux.screen('it');
    await until('the question', () => (screen().includes(question) ? true : null), { seen: screen });
    await expect.poll(() => readFileSync(log, 'utf8'), LONG).toContain("agent 'it' asks a question");
    expect([trusted(home), existsSync(stage.file('runs/0001/prompted'))]).toEqual([false, false]);
    const press = (key: string): string => tmux.ask('send-keys', '-t', '=ralph:=it', key);
    const isSelected = (): boolean => selects === null || screen().includes(selects.shows);
    // It takes no keys yet while it paints its question.
    await expect
      .poll(() => isSelected() || press(selects?.key ?? '') !== '' || isSelected(), LONG)
      .toBe(true);
    press('Enter');

    const { stdout } = await stage.ralph('wait', 'it', '--timeout', '120').ended;
    expect(stdout).toBe('it: exited\n');
    expect(trusted(home)).toBe(true);
    expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: false });
    const asked = model.requests.filter(({ turn }) => typeof turn === 'number');
    expect(asked.map((one) => mentions(one, TASK))).toEqual(
      Array.from({ length: 2 * asksPerPrompt }, () => true),
    );
    expect(stage.journal.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
    expect(readFileSync(log, 'utf8')).not.toContain('did not become ready');
  },
);
