import { addTo, removeFrom, type Asked, type Changed } from '../programs/programs.ts';
import { visible, homely } from '../text/one-line.ts';
import { UserError } from '../user-error.ts';
import { print, printAsIs, printJson, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface HookInstallOptions {
  readonly user?: boolean;
  readonly project?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
  readonly cwd?: string;
}

/** `ralph hook install`: adds Ralph's hooks and commands to a host program. */
export async function installHooks(name: string, options: HookInstallOptions): Promise<number> {
  const asked = askedBy(options);
  const changed = await addTo(name, asked);
  const { title, elsewhere, path, notes, warnings } = changed;
  if (elsewhere !== null)
    throw new UserError(
      `Ralph is already installed for ${title} in ${shown(elsewhere.path)}, and both would run\nRemove that first: ralph hook uninstall ${name} --${elsewhere.scope}`,
    );
  if (options.json === true) return printResult(name, asked, changed);
  if (changed.changes.length === 0) print(`already installed for ${title}: ${shown(path ?? '')}\n`);
  printChanges(changed);
  if (!asked.isDryRun) for (const note of notes) print(`${shown(note)}\n`);
  for (const warning of warnings) warn(`ralph: warning: ${shown(warning)}\n`);
  return 0;
}

/** `ralph hook uninstall`: removes what `install` has added. */
export async function uninstallHooks(name: string, options: HookInstallOptions): Promise<number> {
  const asked = askedBy(options);
  const changed = await removeFrom(name, asked);
  const { title, elsewhere, left } = changed;
  if (options.json === true) return printResult(name, asked, changed);
  if (changed.changes.length === 0) {
    print(`not installed for ${title} (${asked.scope})\n`);
    if (elsewhere !== null)
      print(
        `It is installed in ${shown(elsewhere.path)}; remove it with: ralph hook uninstall ${name} --${elsewhere.scope}\n`,
      );
  }
  printChanges(changed);
  for (const path of left) warn(`note: ${shown(path)} was edited since Ralph wrote it, and stays\n`);
  return 0;
}

function askedBy(options: HookInstallOptions): Asked {
  if (options.user === true && options.project === true)
    throw new UserError('give either --user or --project, not both');
  return {
    scope: options.project === true ? 'project' : 'user',
    workspace: workspaceOf(options),
    isDryRun: options.dryRun === true,
  };
}

function printChanges({ changes }: Changed): void {
  for (const { path, action, backup, diff } of changes)
    printAsIs(diff ?? `${action} ${shown(path)}${backup === null ? '' : ` (backup: ${shown(backup)})`}\n`);
}

function printResult(
  program: string,
  { scope, isDryRun }: Asked,
  { changes, left, notes, warnings }: Changed,
): number {
  printJson({
    program,
    scope,
    dryRun: isDryRun,
    changes: changes.map(({ path, action, backup }) => ({ path, action, backup })),
    left,
    notes: [...notes, ...warnings],
  });
  return 0;
}

function shown(text: string): string {
  return visible(homely(text, process.env['HOME']));
}
