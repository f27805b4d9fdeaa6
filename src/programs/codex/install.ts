import { dirname, join } from 'node:path';
import { textOf } from '../../files/files.ts';
import type { HookHandler } from '../hook-settings.ts';
import type { HostProgram, Place } from '../host-program.ts';
import { filesOf, hooksOf, pluginFolder } from '../plugin-folder.ts';

/** Codex 0.166: a file of hooks, and a skill per command. Its hooks are command lines for the user's shell. */
export const codex: HostProgram = {
  title: 'Codex',
  parts(place) {
    const { ralph, scope, workspace, home } = place;
    const user = userFolder(place);
    const folder = scope === 'user' ? user : join(workspace, '.codex');
    const skills = join(folder, 'skills');
    const plugin = pluginFolder(ralph, 'codex');
    const outside = (handler: HookHandler): HookHandler => ({
      ...handler,
      command: handler.command.replaceAll(/"\$PLUGIN_ROOT([^"]*)"/g, (_, rest: string) =>
        quoted(plugin + rest),
      ),
    });
    const files = filesOf(join(plugin, 'skills'), skills);
    const inner = files.map(({ path }) => dirname(path)).toSorted((a, b) => b.length - a.length);
    return {
      roots: scope === 'user' ? [folder, home] : [workspace],
      settings: { path: join(folder, 'hooks.json'), hooks: hooksOf(plugin, outside) },
      files,
      folders: [...inner, skills, ...(scope === 'user' ? [] : [folder])],
      notes: [
        'Codex runs new hooks only after you trust them: start codex and choose "Trust all and continue", or open /hooks and press t. "codex exec" skips untrusted hooks silently.',
        ...(scope === 'user' ? [] : ['Codex loads the hooks of a project only if you trust the project.']),
        'In a new session of Codex: $ralph "task" --check "npm test"',
      ],
      warnings: warningsFor(join(user, 'config.toml')),
    };
  },
};

function userFolder({ env, home }: Place): string {
  const chosen = env['CODEX_HOME'] ?? '';
  return chosen === '' ? join(home, '.codex') : chosen;
}

/** One word for a POSIX shell, and for fish. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** Looks at single lines: this is a hint, and reading TOML as a whole would need a parser. */
function warningsFor(config: string): readonly string[] {
  const text = textOf(config) ?? '';
  return [
    ...(/^[ \t]*(?:features\.)?(?:codex_)?hooks\s*=\s*false\b/m.test(text)
      ? [`hooks are switched off in ${config}: hooks = false; remove it to use Ralph`]
      : []),
    ...(/^[ \t]*\[plugins\."ralph@ralph/m.test(text)
      ? [`Ralph is also installed as a plugin (${config}), and both would run; remove one`]
      : []),
  ];
}
