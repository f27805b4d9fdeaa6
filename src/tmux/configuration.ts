/** The configuration of Ralph's tmux server, with the keys of the user. */
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { textOf } from '../files/files.ts';

/** The text of the file that the server is started with. */
export function configuration(env: NodeJS.ProcessEnv): string {
  return `${[...OURS, ...keysOf(env)].join('\n')}\n`;
}

const OURS: readonly string[] = [
  // In the file and not in a command: the mark is there before the server answers anyone.
  'set-option -s @ralph 1',
  // Otherwise an attached client would change the environment of later windows.
  "set-option -g update-environment ''",
  // Every system knows this terminal.
  'set-option -g default-terminal screen-256color',
  // In the place of the title that the agent sets: how to leave.
  "set-option -g status-left '[ralph] '",
  "set-option -g status-right 'detach: #{prefix} d '",
  // As long as no client is attached.
  'set-option -g default-size 200x50',
  'set-option -g history-limit 5000',
  // A window keeps its name, and stays when its program exits: it shows the end, and the next iteration uses it.
  'set-option -gw automatic-rename off',
  'set-option -gw allow-rename off',
  'set-option -gw remain-on-exit on',
  'set-option -gwq remain-on-exit-format "[exited with #{?pane_dead_signal,signal #{pane_dead_signal},status #{pane_dead_status}}]"',
];

/**
 * The keys that the user is used to, from the tmux configuration. The rest of it does not apply: hooks, plugins and
 * `remain-on-exit` would change what Ralph relies on.
 */
function keysOf(env: NodeJS.ProcessEnv): readonly string[] {
  const home = env['HOME'] ?? '';
  const files = [
    '/etc/tmux.conf',
    join(home, '.tmux.conf'),
    join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'tmux', 'tmux.conf'),
  ];
  const found = files
    .flatMap((file) => read(file).split('\n'))
    .flatMap((line) => {
      const [, option = '', value = ''] = KEY_OPTION.exec(line) ?? [];
      return option === '' ? [] : [{ option, value }];
    });
  return [
    ...found.map(({ option, value }) => `set-option -g ${option} ${value}`),
    // A program in the window gets the prefix by pressing it twice.
    ...found.filter(({ option }) => option === 'prefix').map(({ value }) => `bind-key ${value} send-prefix`),
  ];
}

const KEY_OPTION =
  /^\s*set(?:-option)?\s+-g\s+(prefix2?|mouse|mode-keys|status-keys)\s+["']?([A-Za-z0-9^-]+)["']?\s*(?:#.*)?$/;

/** Many keep their configuration elsewhere and have a link to it. */
function read(file: string): string {
  try {
    return textOf(realpathSync(file), MAX_BYTES) ?? '';
  } catch {
    return '';
  }
}

const MAX_BYTES = 2 ** 20;
