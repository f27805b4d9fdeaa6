/** The pages of `docs/` in the terminal: `ralph help TOPIC` and `ralph skill`. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commandNames } from '../../src/cli/program.ts';
import { Terminals } from '../rig/cli/terminal.ts';
import { openLoadedStage, openStage } from './stage.ts';

const docs = new URL('../../docs/', import.meta.url);
const text = (page: string): string => readFileSync(new URL(page, docs), 'utf8');
const topics = readdirSync(docs)
  .filter((file) => file.endsWith('.md') && !['README.md', 'contract.md'].includes(file))
  .map((file) => file.replace('.md', ''));

describe('ralph help TOPIC', () => {
  it('prints the page, or the help of the command of this name', async () => {
    const stage = openLoadedStage();
    for (const topic of topics) {
      const page = text(`${topic}.md`).replaceAll(/^<!--.*-->\n\n/gm, '');
      // oxlint-disable-next-line no-await-in-loop -- commands in one process take turns
      expect(await stage.ralph('help', `${topic}.md`).ended).toEqual({ code: 0, stdout: page, stderr: '' });
      // oxlint-disable-next-line no-await-in-loop -- the same
      const { stdout } = await stage.ralph('help', topic).ended;
      expect(stdout.split('\n')[0]).toMatch(
        commandNames().includes(topic) ? new RegExp(`^Usage: ralph ${topic}\\b`) : /^# /,
      );
    }
  });

  it('topics prints the index', async () => {
    expect((await openLoadedStage().ralph('help', 'topics').ended).stdout).toBe(text('README.md'));
  });
});

it('ralph skill prints the page for agents, inside a run too', async () => {
  const stage = openLoadedStage();
  stage.env['RALPH_RUN_ID'] = 'it-0a1b2c3d.1';
  expect(await stage.ralph('skill').ended).toEqual({ code: 0, stdout: text('skill.md'), stderr: '' });
});

describe('on a terminal', { tags: ['tmux'] }, () => {
  const shown = async (topic: string, pager: Readonly<Record<string, string>>) => {
    const stage = openStage();
    const terminals = new Terminals();
    onTestFinished(() => terminals.close());
    const terminal = terminals.open([process.execPath, stage.main, 'help', topic], {
      cwd: stage.workspace,
      env: { ...stage.env, TERM: 'screen', NO_COLOR: '1', ...pager },
      size: [80, 60],
    });
    await terminal.ends();
    return terminal.screen;
  };

  it('a page goes through the pager and fits the width', async () => {
    const screen = await shown('limits', { PAGER: 'sed s/^/PAGED:/' });
    expect(screen).toMatch(/^PAGED:Limits\nPAGED:\n/);
    expect(screen.split('\n').filter((line) => line.length > 'PAGED:'.length + 80)).toEqual([]);
  });

  it.each([
    ['is empty', ''],
    ['does not exist', '/no/such/pager'],
  ])('a page is printed where the pager %s', async (_, pager) => {
    expect(await shown('undo', { PAGER: pager })).toContain('Undo: checkpoints\n\nIn a git repository every');
  });
});
