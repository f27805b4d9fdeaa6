import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import type { HostProgram, Place } from '../host-program.ts';
import { marked } from '../own-file.ts';
import { ownText } from '../plugin-folder.ts';

/** opencode 1.18: one file in a folder of plugins, which registers its commands itself. */
export const opencode: HostProgram = {
  title: 'opencode',
  parts(place) {
    const { ralph, scope, workspace, home } = place;
    const folder = scope === 'user' ? userFolder(place) : join(workspace, '.opencode');
    const plugins = join(folder, existsSync(join(folder, 'plugins', NAME)) ? 'plugins' : 'plugin');
    return {
      roots: scope === 'user' ? [folder, home] : [workspace],
      settings: null,
      files: [{ path: join(plugins, NAME), text: marked(pluginText(ralph), '//') }],
      folders: scope === 'user' ? [plugins] : [plugins, folder],
      notes: [
        'Restart opencode; then, in a session: /ralph "task" --check "npm test"',
        '"opencode run" ends after one turn; loops need the TUI or "opencode serve".',
      ],
      warnings: [],
    };
  },
};

const NAME = 'ralph.js';

function userFolder({ env, home }: Place): string {
  const configured = env['XDG_CONFIG_HOME'] ?? '';
  return join(isAbsolute(configured) ? configured : join(home, '.config'), 'opencode');
}

/** The plugin, with the Node and the Ralph that install it: opencode may run without either in its PATH. */
function pluginText(ralph: string): string {
  const command = [process.execPath, join(ralph, 'dist', 'cli', 'main.js')];
  const text = ownText(join(ralph, 'dist', 'plugins', 'opencode', NAME));
  const placed = text.replace(PLACE, () => `const RALPH_COMMAND = ${JSON.stringify(command)};`);
  if (placed === text) throw new Error(`this installation of Ralph is damaged: its plugin has no "${PLACE}"`);
  return placed;
}

const PLACE = 'const RALPH_COMMAND = null;';
