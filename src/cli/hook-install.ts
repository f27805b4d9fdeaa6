import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Made } from '../install/change.ts';
import { claude } from '../install/claude.ts';
import { codex } from '../install/codex.ts';
import { diffText } from '../install/diff-text.ts';
import type { HostProgram, Parts, Place, Scope } from '../install/host-program.ts';
import { install, installedIn, uninstall, type Installed } from '../install/install.ts';
import { opencode } from '../install/opencode.ts';
import { vanishing } from '../service/job.ts';
import { visible, homely } from '../text/one-line.ts';
import { UserError } from '../user-error.ts';
import { print, printJson, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface HookInstallOptions {
  readonly user?: boolean;
  readonly project?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly cwd?: string;
}

const PROGRAMS: Readonly<Record<string, HostProgram>> = { claude, codex, opencode };

/** `ralph hook install`: adds Ralph's hooks and commands to a host program. */
export async function installHooks(name: string, options: HookInstallOptions): Promise<number> {
  const { program, place, parts } = called(name, options);
  const elsewhere = installedElsewhere(program, place, parts);
  // Host programs run the hooks of the user and of the project, both: every turn of a session would be taken twice.
  if (elsewhere !== null)
    throw new UserError(
      `Ralph is already installed for ${program.title} in ${shown(elsewhere.path)}, and both would run\nRemove that first: ralph hook uninstall ${name} --${elsewhere.scope}`,
    );
  const result = await install(parts, options.dryRun === true);
  const vanishes = vanishing([place.ralph]);
  const warnings = [
    ...parts.warnings,
    ...(vanishes === null
      ? []
      : [
          `${vanishes} is in a cache or a temporary folder, and the hooks fail once it is deleted; install ralph permanently, then repeat: ralph hook install ${name}`,
        ]),
    ...(place.scope === 'project'
      ? ['what was written contains paths of this machine; do not commit it']
      : []),
  ];
  if (options.json === true)
    return printResult(name, place.scope, options, result, [...parts.notes, ...warnings]);
  if (result.made.length === 0)
    print(`already installed for ${program.title}: ${shown(installedPath(parts) ?? '')}\n`);
  printChanges(result, options);
  if (options.dryRun !== true) for (const note of parts.notes) print(`${shown(note)}\n`);
  for (const warning of warnings) warn(`ralph: warning: ${shown(warning)}\n`);
  return 0;
}

/** `ralph hook uninstall`: removes what `install` has added. */
export async function uninstallHooks(name: string, options: HookInstallOptions): Promise<number> {
  const { program, place, parts } = called(name, options);
  const result = await uninstall(parts, options.dryRun === true);
  if (options.json === true) return printResult(name, place.scope, options, result, []);
  if (result.made.length === 0) {
    print(`not installed for ${program.title} (${place.scope})\n`);
    const elsewhere = installedElsewhere(program, place, parts);
    if (elsewhere !== null)
      print(
        `It is installed in ${shown(elsewhere.path)}; remove it with: ralph hook uninstall ${name} --${elsewhere.scope}\n`,
      );
  }
  printChanges(result, options);
  for (const path of result.left) warn(`note: ${shown(path)} was edited since Ralph wrote it, and stays\n`);
  return 0;
}

interface Called {
  readonly program: HostProgram;
  readonly place: Place;
  readonly parts: Parts;
}

function called(name: string, options: HookInstallOptions): Called {
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  if (program === undefined)
    throw new UserError(`unknown program "${name}", expected ${Object.keys(PROGRAMS).join(', ')}`);
  if (options.user === true && options.project === true)
    throw new UserError('give either --user or --project, not both');
  const place: Place = {
    scope: options.project === true ? 'project' : 'user',
    workspace: workspaceOf(options),
    home: homedir(),
    env: process.env,
    ralph: fileURLToPath(new URL('../..', import.meta.url)),
  };
  return { program, place, parts: program.parts(place) };
}

/** Where else Ralph is installed: for the user, or for the project. */
function installedElsewhere(
  program: HostProgram,
  place: Place,
  parts: Parts,
): { readonly path: string; readonly scope: Scope } | null {
  const scope = place.scope === 'user' ? 'project' : 'user';
  const path = installedIn(program.parts({ ...place, scope }));
  return path === null || path === installedPath(parts) ? null : { path, scope };
}

function installedPath({ settings, files }: Parts): string | undefined {
  return settings?.path ?? files[0]?.path;
}

function printChanges({ made }: Installed, { dryRun }: HookInstallOptions): void {
  for (const one of made) {
    const { path, before, after } = one.change;
    if (dryRun === true) print(diffText(path, before, after));
    else
      print(
        `${actionOf(one)} ${shown(path)}${one.backup === null ? '' : ` (backup: ${shown(one.backup)})`}\n`,
      );
  }
}

function actionOf({ change: { before, after } }: Made): 'created' | 'changed' | 'removed' {
  if (after === null) return 'removed';
  return before === null ? 'created' : 'changed';
}

function printResult(
  program: string,
  scope: Scope,
  { dryRun }: HookInstallOptions,
  { made, left }: Installed,
  notes: readonly string[],
): number {
  const changes = made.map((one) => ({ path: one.change.path, action: actionOf(one), backup: one.backup }));
  printJson({ program, scope, dryRun: dryRun === true, changes, left, notes });
  return 0;
}

function shown(text: string): string {
  return visible(homely(text, process.env['HOME']));
}
