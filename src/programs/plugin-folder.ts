/** What Ralph's own folder `plugins/` has for a host program. */
import { join } from 'node:path';
import { foundAt, namesIn, readRegular } from '../files/files.ts';
import { isRecord } from '../loop/shape.ts';
import type { HookHandler, Hooks } from './hook-settings.ts';
import type { OwnFile } from './host-program.ts';
import { marked } from './own-file.ts';

/** The folder that a host program loads as a plugin. */
export function pluginFolder(ralph: string, name: 'claude-code' | 'codex'): string {
  return join(ralph, 'plugins', name);
}

/** The hooks of a plugin, with handlers as they must be outside of it. */
export function hooksOf(plugin: string, change: (handler: HookHandler) => HookHandler): Hooks {
  const path = join(plugin, 'hooks', 'hooks.json');
  const file: unknown = JSON.parse(ownText(path));
  if (!hasHooks(file)) throw new Error(`this installation of Ralph is damaged: ${path} has no hooks`);
  return Object.fromEntries(
    Object.entries(file.hooks).map(([event, groups]) => [
      event,
      groups.map((group) => ({ ...group, hooks: group.hooks.map(change) })),
    ]),
  );
}

/** The file is part of this installation, so its parts are not looked at. */
function hasHooks(file: unknown): file is { readonly hooks: Hooks } {
  return isRecord(file) && isRecord(file['hooks']);
}

/** All files below a folder of this installation, as they are written to another folder: Markdown and YAML. */
export function filesOf(source: string, target: string): readonly OwnFile[] {
  return namesIn(source).flatMap((name) => {
    const path = join(source, name);
    return foundAt(path)?.isDirectory() === true
      ? filesOf(path, join(target, name))
      : [{ path: join(target, name), text: marked(ownText(path), '#') }];
  });
}

/** A file of this installation. */
export function ownText(path: string): string {
  const content = readRegular(path);
  if (content === null) throw new Error(`this installation of Ralph is incomplete: ${path} is missing`);
  return content.toString('utf8');
}
