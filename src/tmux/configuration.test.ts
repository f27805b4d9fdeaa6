import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { configuration } from './configuration.ts';

it("takes over the user's keys, and nothing else of the user's configuration", () => {
  const home = mkdtempSync(join(tmpdir(), 'ralph-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const lines = [
    '# mine',
    'set -g prefix C-a # as in screen',
    'set-option -g mouse "on"',
    'set -g mode-keys vi; run-shell evil',
    'set -g remain-on-exit off',
    "set-hook -g session-created 'kill-session'",
    'set -g status-keys vi',
    'bind r source-file ~/.tmux.conf',
  ];
  writeFileSync(join(home, 'dotfile'), lines.join('\n'));
  symlinkSync(join(home, 'dotfile'), join(home, '.tmux.conf'));
  mkdirSync(join(home, '.config', 'tmux'), { recursive: true });
  writeFileSync(join(home, '.config', 'tmux', 'tmux.conf'), 'set -g prefix2 C-q\n');
  const without = configuration({ HOME: '/nonexistent' });
  const added = configuration({ HOME: home }).slice(without.length);
  expect(added.split('\n')).toEqual([
    'set-option -g prefix C-a',
    'set-option -g mouse on',
    'set-option -g status-keys vi',
    'set-option -g prefix2 C-q',
    'bind-key C-a send-prefix',
    '',
  ]);
  expect(without).toMatch(/^set-option -s @ralph 1\n/);
});
