/** What `ralph init` suggests for a workspace: installed agents and likely checks. None of them is run. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { namesIn, textOf } from '../files/files.ts';
import { ALL_AGENTS } from '../agents/agents.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { suggestChecks, type Repository, type SuggestedCheck } from '../settings/suggest.ts';
import { findCommand } from '../process/command.ts';
import { PACKAGE } from '../package-name.ts';
import { loginOf, loginText } from './machine.ts';

export interface Suggestions {
  /** The supported agents that are installed: those that are logged in first, then preferred ones. */
  readonly agents: readonly { readonly command: string; readonly login: string }[];
  readonly checks: readonly SuggestedCheck[];
  /** The path of the settings schema, relative to the settings file; null if the package is not in `node_modules`. */
  readonly schema: string | null;
  /** Whether a program of this name is installed. */
  has(program: string): boolean;
}

export function suggestionsFor(
  workspace: string,
  env: Readonly<Record<string, string>> = startersEnvironment(process.env),
): Suggestions {
  const has = (program: string): boolean =>
    findCommand(program, env['PATH'] ?? '', workspace).found === 'executable';
  const installed = ALL_AGENTS.flatMap(({ call }) => (call !== null && has(call.command) ? [call] : []));
  const agents = installed.map((call) => ({ command: call.command, login: loginOf(call, env) }));
  return {
    agents: agents
      .toSorted((a, b) => loginRank(a.login) - loginRank(b.login))
      .map(({ command, login }) => ({ command, login: loginText(login) })),
    checks: suggestChecks(repositoryAt(workspace)),
    schema: schemaFor(workspace),
    has,
  };
}

function loginRank({ state }: ReturnType<typeof loginOf>): number {
  return state === 'not logged in' ? 2 : state === 'unknown' ? 1 : 0;
}

function repositoryAt(workspace: string): Repository {
  return {
    read(name) {
      try {
        // A FIFO in a clone is not waited for.
        return textOf(realpathSync(join(workspace, name)));
      } catch {
        return null;
      }
    },
    list: (folder) => namesIn(join(workspace, folder)),
  };
}

/** The schema of the version that is installed for this workspace. */
function schemaFor(workspace: string): string | null {
  for (let folder = workspace; ; folder = dirname(folder)) {
    const installed = join(folder, 'node_modules', PACKAGE, 'settings.schema.json');
    if (existsSync(installed)) return relative(join(workspace, '.ralph'), installed);
    if (folder === dirname(folder)) return null;
  }
}
