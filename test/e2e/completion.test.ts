/**
 * `ralph completion` in real shells: what Tab makes of a line.
 *
 * @module-tag tmux
 */
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals, type Terminal } from '../rig/cli/terminal.ts';

let terminals: Terminals;
let rig: Rig;

beforeAll(async () => {
  terminals = new Terminals();
  rig = await setUpRig();
  const bin = join(rig.folder, 'bin');
  mkdirSync(bin);
  for (const name of ['ralph', 'rud']) {
    writeFileSync(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${rig.command}' "$@"\n`);
    chmodSync(join(bin, name), 0o755);
  }
  writeFileSync(join(rig.workspace, 'a task; touch hit.md'), '');
  mkdirSync(join(rig.workspace, 'packages'));
  const words = ['--name', 'night-shift', '-m', '1', '--', ...rig.plain('exit 0')];
  await rig.does('run', 'a task', ...words);
});
afterAll(async () => {
  terminals.close();
  await rig.tearDown();
});

const SHELLS = [
  {
    shell: 'bash',
    argv: ['bash', '--noprofile', '--norc', '-i'],
    load: 'source <(ralph completion bash)',
    file: String.raw`a\ task\;\ touch\ hit.md`,
  },
  {
    shell: 'zsh',
    argv: ['zsh', '-f', '-i'],
    load: 'autoload -U compinit && compinit -D -u && source <(ralph completion zsh)',
    file: String.raw`a\ task\;\ touch\ hit.md`,
  },
  {
    shell: 'fish',
    argv: ['fish', '--no-config', '-i'],
    load: 'ralph completion fish | source',
    file: String.raw`a\ task\;\ touch\ hit.md`,
  },
] as const;

describe.each(SHELLS)('in $shell', ({ shell, argv, load, file }) => {
  const open = async (): Promise<Terminal> => {
    const terminal = terminals.open(argv, {
      cwd: rig.workspace,
      env: {
        ...rig.env,
        PATH: `${join(rig.folder, 'bin')}:${rig.env['PATH'] ?? ''}`,
        TERM: 'screen',
        LC_ALL: 'C.UTF-8',
        PS1: '> ',
      },
    });
    terminal.types(`${load}; echo lo''aded\r`);
    await terminal.shows('loaded');
    return terminal;
  };

  it(
    'completes commands, options, agents, presets, loops, settings, files and folders',
    { tags: [shell] },
    async () => {
      const terminal = await open();
      const lines = [
        ['ralph wor', 'ralph worktree '],
        ['rud worktree mer', 'rud worktree merge '],
        ['ralph run --max-c', 'ralph run --max-cost '],
        ['ralph run --agent open', 'ralph run --agent opencode '],
        ['ralph run --preset archi', 'ralph run --preset architect '],
        ['ralph run --until ch', 'ralph run --until checks '],
        ['ralph help und', 'ralph help undo '],
        ['ralph logs nig', 'ralph logs night-shift '],
        ['ralph set night-shift max-co', 'ralph set night-shift max-cost='],
        ['ralph run -f a', `ralph run -f ${file} `],
        ['ralph ls --cwd pa', 'ralph ls --cwd packages/'],
      ] as const;
      for (const [typed, completed] of lines) {
        // Ctrl-U clears the line; the sign shows what Tab has put behind the word.
        terminal.types(`\u0015${typed}\t#`);
        // oxlint-disable-next-line no-await-in-loop -- one line after the other
        await terminal.shows(`${completed}#`);
      }
      expect(terminal.screen).toContain(`${lines.at(-1)?.[1]}#`);
      terminal.types('\u0015exit\r');
      await terminal.ends();
    },
  );

  it('leaves a line alone that makes no sense, and runs nothing of it', { tags: [shell] }, async () => {
    const terminal = await open();
    terminal.types('ralph logs $(touch hit) nosuch\t#');
    await terminal.shows('nosuch#');
    terminal.types('\u0015exit\r');
    await terminal.ends();
    expect(existsSync(join(rig.workspace, 'hit'))).toBe(false);
  });
});
