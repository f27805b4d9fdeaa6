/**
 * Loops inside the terminal interface of the real Claude Code.
 *
 * @module-tag tmux
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { RiggedTmux } from '../rig/cli/tmux.ts';
import { openStage, type Stage } from '../scenarios/stage.ts';
import { install } from './install.ts';
import { mentions, startModel, type Model } from './model-server.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { says, type Turn } from './script.ts';
import { CLAIM } from './whole-loop.ts';

const PLUGIN = fileURLToPath(new URL('../../plugins/claude-code', import.meta.url));

/** Claude Code in a window, with a scripted model. */
async function openTerminal(script: readonly Turn[]): Promise<Terminal> {
  const agent = REAL_AGENTS.claude;
  const bin = await install(agent.package);
  const model = await startModel(script);
  onTestFinished(() => model.close());
  const stage = openStage();
  const home = stage.env['HOME'] ?? '';
  const temporary = join(dirname(home), 'tmp');
  mkdirSync(temporary);
  const prepared = agent.prepare({ home, url: model.url });
  const approved = [(prepared['ANTHROPIC_API_KEY'] ?? '').slice(-20)];
  const config = {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved, rejected: [] },
    projects: { [stage.workspace]: { hasTrustDialogAccepted: true } },
  };
  writeFileSync(join(home, '.claude.json'), JSON.stringify(config));
  const env = {
    ...stage.env,
    ...prepared,
    PATH: `${bin}${delimiter}${stage.env['PATH']}`,
    TMPDIR: temporary,
  };
  const tmux = new RiggedTmux(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph'));
  const given = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const command = ['env', `PATH=${env.PATH}`, 'claude', '--plugin-dir', PLUGIN, '--model', agent.model];
  const size = ['-d', '-x', '180', '-y', '60', '-c', stage.workspace];
  tmux.ask('-f', '/dev/null', 'new-session', '-s', 'ralph', '-n', 'it', ...size, ...given, ...command);
  onTestFinished(() => tmux.tearDown());
  await tmux.shows('it', 'for shortcuts');
  const ends = async (): Promise<void> => {
    tmux.tearDown();
    await stage.until('the end of Claude Code', () => stage.running.length === 0);
  };
  return { stage, model, tmux, ends };
}

interface Terminal {
  readonly stage: Stage;
  readonly model: Model;
  readonly tmux: RiggedTmux;
  readonly ends: () => Promise<void>;
}

/** Pastes a text as a terminal does, and submits it. */
async function paste({ stage, tmux }: Terminal, text: string): Promise<void> {
  stage.write('block', text);
  tmux.ask('load-buffer', '-b', 'block', join(stage.workspace, 'block'));
  tmux.ask('paste-buffer', '-p', '-b', 'block', '-t', '=ralph:=it');
  await tmux.shows('it', '[Pasted text #');
  tmux.ask('send-keys', '-t', '=ralph:=it', 'Enter');
}

const LINES = Array.from({ length: 12 }, (_, index) => `line ${index}`).join('\n');

it('S5.43 starts a loop from a pasted block, which is no command for Claude Code', async () => {
  const terminal = await openTerminal([says('I begin.'), says(CLAIM)]);
  await paste(terminal, `/ralph "Fix\n${LINES}" --max-iterations=5`);
  await terminal.tmux.shows('it', 'Ralph loop started: at most 5 iterations');
  await terminal.tmux.shows('it', 'ended after 2 iterations');
  const asked = terminal.model.requests.filter(({ turn }) => typeof turn === 'number');
  expect(asked.map((one) => mentions(one, '<ralph-loop-mode iteration="1" max="5">'))).toEqual([true, true]);
  expect(asked.map((one) => mentions(one, '[RALPH LOOP - ITERATION 2/5]'))).toEqual([false, true]);
  await terminal.ends();
});

it('S5.43 says why a pasted block does not start a loop, and the model does not get it', async () => {
  const terminal = await openTerminal([says('I begin.')]);
  await paste(terminal, `/ralph "Fix\n${LINES}" --max-iteration=5`);
  await terminal.tmux.shows('it', 'Ralph did not start a loop: unknown option --max-iteration');
  expect(terminal.model.requests.filter(({ turn }) => typeof turn === 'number')).toEqual([]);
  await terminal.ends();
});
