/** Whose command a shell starts for `ralph`, since another package may own that name. The command is never run. */
import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readJsonFile, textOf } from '../files/files.ts';
import { isRecord } from '../loop/shape.ts';
import { PACKAGE } from '../package-name.ts';
import { findCommand } from '../process/command.ts';

export interface OtherRalph {
  readonly path: string;
  /** The package that it belongs to, as `name version`; null if its file does not say so. */
  readonly owner: string | null;
}

/** The first `ralph` in these folders, if another program owns it; null if there is none or it is this one. */
export function otherRalph(searchPath: string, cwd: string): OtherRalph | null {
  const found = findCommand('ralph', searchPath, cwd);
  if (found.found !== 'executable') return null;
  const file = realpathSync(found.path);
  const owner = file.startsWith(`${ROOT}/`) ? PACKAGE : (packageOf(file) ?? packageInScript(file));
  return owner?.split(' ', 1)[0] === PACKAGE ? null : { path: found.path, owner };
}

const ROOT = realpathSync(fileURLToPath(new URL('../../', import.meta.url)));

/** The package that the nearest manifest describes, if that one has such a command: a script may lie in any project. */
function packageOf(file: string): string | null {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = readJsonFile(join(folder, 'package.json'));
    if (!isRecord(manifest) || typeof manifest['name'] !== 'string') continue;
    const { name, version, bin } = manifest;
    const isItsCommand = isRecord(bin)
      ? 'ralph' in bin
      : typeof bin === 'string' && /(?:^|\/)ralph$/.test(name);
    return isItsCommand || name === PACKAGE
      ? `${name}${typeof version === 'string' ? ` ${version}` : ''}`
      : null;
  }
  return null;
}

/** Where pnpm and others write a script instead of a link, it names the file in the package. */
function packageInScript(file: string): string | null {
  const script = textOf(file, MAX_SCRIPT_BYTES) ?? '';
  const names = [...script.matchAll(/\/node_modules\/((?:@[\w.-]+\/)?\w[\w.-]*)\//g)].map(
    ([, name = '']) => name,
  );
  return names.includes(PACKAGE) ? PACKAGE : (names.at(-1) ?? null);
}

const MAX_SCRIPT_BYTES = 16 * 1024;
