import { join } from 'node:path';
import { readJsonFile } from '../../files/files.ts';
import { isRecord } from '../../loop/shape.ts';
import { FORMER, PACKAGE } from '../../package-name.ts';
import type { HookHandler } from '../hook-settings.ts';
import type { HostProgram, Place } from '../host-program.ts';
import { filesOf, hooksOf, pluginFolder } from '../plugin-folder.ts';

/** Claude Code 2.1: hooks in its settings, and a Markdown file per command. Hooks in exec form meet no shell. */
export const claude: HostProgram = {
  title: 'Claude Code',
  parts(place) {
    const { ralph, scope, workspace, home } = place;
    const folder = scope === 'user' ? userFolder(place) : join(workspace, '.claude');
    const commands = join(folder, 'commands');
    const plugin = pluginFolder(ralph, 'claude-code');
    const placed = (text: string): string => text.replaceAll('${CLAUDE_PLUGIN_ROOT}', () => plugin);
    const outside = (handler: HookHandler): HookHandler => ({
      ...handler,
      command: placed(handler.command),
      ...(handler.args === undefined ? {} : { args: handler.args.map(placed) }),
    });
    return {
      roots: scope === 'user' ? [folder, home] : [workspace],
      settings: { path: join(folder, 'settings.json'), hooks: hooksOf(plugin, outside) },
      files: filesOf(join(plugin, 'commands'), commands),
      folders: scope === 'user' ? [commands] : [commands, folder],
      notes: ['In a new session of Claude Code: /ralph "task" --check "npm test"'],
      warnings: warningsFor(place),
    };
  },
};

function userFolder({ env, home }: Place): string {
  const chosen = env['CLAUDE_CONFIG_DIR'] ?? '';
  return chosen === '' ? join(home, '.claude') : chosen;
}

function warningsFor(place: Place): readonly string[] {
  const project = join(place.workspace, '.claude');
  const own = [
    join(userFolder(place), 'settings.json'),
    join(project, 'settings.json'),
    join(project, 'settings.local.json'),
  ];
  const disabled = [...own, ...MANAGED].filter((path) => settingsAt(path)['disableAllHooks'] === true);
  const managed = MANAGED.filter((path) => settingsAt(path)['allowManagedHooksOnly'] === true);
  const asPlugin = own.flatMap((path) =>
    PLUGINS.filter((plugin) => recordOf(settingsAt(path)['enabledPlugins'])[plugin] === true).map(
      (plugin) => ({ path, plugin }),
    ),
  );
  return [
    ...disabled.map(
      (path) => `hooks are switched off: ${path} has "disableAllHooks": true; remove it to use /ralph`,
    ),
    ...managed.map(
      (path) => `hooks are switched off by your organization: ${path} has "allowManagedHooksOnly": true`,
    ),
    ...asPlugin.map(
      ({ path, plugin }) =>
        `Ralph is also enabled as a plugin in ${path}, and both would run; disable one: claude plugin disable ${plugin}`,
    ),
  ];
}

const PLUGINS = [PACKAGE, FORMER].map((marketplace) => `ralph@${marketplace}`);

const MANAGED: readonly string[] = [
  '/etc/claude-code/managed-settings.json',
  '/Library/Application Support/ClaudeCode/managed-settings.json',
];

function settingsAt(path: string): Readonly<Record<string, unknown>> {
  return recordOf(readJsonFile(path));
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
