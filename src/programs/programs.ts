/**
 * The host programs, in whose sessions loops run: a row for each. `events.ts` of its folder translates what it tells its hook into
 * steps of the session; `install.ts` there says what Ralph adds to it, and is loaded late: a session waits for its hook after every
 * turn.
 */
import { homedir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { vanishing } from '../files/vanishing.ts';
import { UserError } from '../user-error.ts';
import { claudeHook } from './claude/events.ts';
import { codexHook } from './codex/events.ts';
import type { HostProgram, Parts, Place, Scope } from './host-program.ts';
import type * as Install from './install.ts';
import type { Installed } from './install.ts';

interface Program {
  /** Answers what the program tells its hook; null for a program whose plugin takes steps itself. */
  readonly hook: ((input: unknown, env: NodeJS.ProcessEnv) => Promise<object | null>) | null;
  readonly load: () => Promise<HostProgram>;
}

export const PROGRAMS: Readonly<Record<string, Program>> = {
  claude: { hook: claudeHook, load: async () => (await import('./claude/install.ts')).claude },
  codex: { hook: codexHook, load: async () => (await import('./codex/install.ts')).codex },
  opencode: { hook: null, load: async () => (await import('./opencode/install.ts')).opencode },
};

export interface Asked {
  readonly scope: Scope;
  /** The project. */
  readonly workspace: string;
  readonly isDryRun: boolean;
}

/** What was changed in a host program, or would be. */
export interface Changed extends Installed {
  /** The program, as people know it. */
  readonly title: string;
  /** The file by which Ralph is found there; undefined if there is none. */
  readonly path: string | undefined;
  /** Where else Ralph is installed: for the user, or for the project. After a removal it is known only if nothing was removed. */
  readonly elsewhere: { readonly path: string; readonly scope: Scope } | null;
  /** What a person has to know or to do after an install. */
  readonly notes: readonly string[];
  readonly warnings: readonly string[];
}

/** Adds Ralph to a host program, or updates it. Changes nothing if Ralph is installed elsewhere: the hooks of both places would run. */
export async function addTo(name: string, asked: Asked): Promise<Changed> {
  const { install, parts, title, path, findElsewhere } = await load(name, asked);
  const elsewhere = findElsewhere();
  const { changes, left } =
    elsewhere === null ? await install(parts, asked.isDryRun) : { changes: [], left: [] };
  const vanishes = vanishing([RALPH]);
  const warnings = [
    ...parts.warnings,
    ...(vanishes === null
      ? []
      : [
          `${vanishes} is in a cache or a temporary folder, and the hooks fail once it is deleted; install ralph permanently, then repeat: ralph hook install ${name}`,
        ]),
    ...(asked.scope === 'project'
      ? ['what was written contains paths of this machine; do not commit it']
      : []),
  ];
  return { title, path, elsewhere, changes, left, notes: parts.notes, warnings };
}

/** Removes what was added to a host program. */
export async function removeFrom(name: string, asked: Asked): Promise<Changed> {
  const { uninstall, parts, title, path, findElsewhere } = await load(name, asked);
  const { changes, left } = await uninstall(parts, asked.isDryRun);
  const elsewhere = changes.length === 0 ? findElsewhere() : null;
  return { title, path, elsewhere, changes, left, notes: [], warnings: [] };
}

interface Loaded extends Pick<typeof Install, 'install' | 'uninstall'>, Pick<Changed, 'title' | 'path'> {
  readonly parts: Parts;
  readonly findElsewhere: () => Changed['elsewhere'];
}

async function load(name: string, { scope, workspace }: Asked): Promise<Loaded> {
  const found = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  if (found === undefined)
    throw new UserError(`unknown program "${name}", expected ${Object.keys(PROGRAMS).join(', ')}`);
  const [program, { install, installedIn, uninstall }] = await Promise.all([
    found.load(),
    import('./install.ts'),
  ]);
  const place: Place = { scope, workspace, home: homedir(), env: process.env, ralph: RALPH };
  const parts = program.parts(place);
  const path = parts.settings?.path ?? parts.files[0]?.path;
  const findElsewhere = (): Changed['elsewhere'] => {
    const other = scope === 'user' ? 'project' : 'user';
    const there = installedIn(program.parts({ ...place, scope: other }));
    return there === null || there === path ? null : { path: there, scope: other };
  };
  return { install, uninstall, title: program.title, path, parts, findElsewhere };
}

/** The folder of this installation. */
const RALPH = fileURLToPath(new URL('../..', import.meta.url));
