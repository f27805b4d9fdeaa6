/** What a workspace and its machine have to offer, for settings that fit: looked at, never called. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { AGENTS } from '../agents/agents.ts';
import { suggestChecks, type Repository, type SuggestedCheck } from '../config/suggest.ts';
import { findCommand } from '../process/command.ts';

export interface Surroundings {
  /** The commands of the agents that ralph knows and that are installed, in the order of its preference. */
  readonly agents: readonly string[];
  readonly checks: readonly SuggestedCheck[];
  /** Where an editor finds the schema of the settings, seen from their file. */
  readonly schema: string;
  /** Whether a program of this name could be started here. */
  has(program: string): boolean;
}

export function lookAround(workspace: string, env: Readonly<Record<string, string>>): Surroundings {
  const has = (program: string): boolean =>
    findCommand(program, env['PATH'] ?? '', workspace).found === 'executable';
  const known = AGENTS.flatMap(({ call }) => (call === null ? [] : [call.command]));
  return {
    agents: known.filter(has),
    checks: suggestChecks(repositoryAt(workspace)),
    schema: schemaFor(workspace),
    has,
  };
}

function repositoryAt(workspace: string): Repository {
  return {
    read(name) {
      try {
        return readFileSync(join(workspace, name), 'utf8');
      } catch {
        // Not there or not readable: then it tells nothing.
        return null;
      }
    },
    list(folder) {
      try {
        return readdirSync(join(workspace, folder));
      } catch {
        return [];
      }
    },
  };
}

/** The one of the version that is installed, or else the newest. */
function schemaFor(workspace: string): string {
  for (let folder = workspace; ; folder = dirname(folder)) {
    const installed = join(folder, 'node_modules', 'ralph-loop');
    if (existsSync(installed)) return join(relative(join(workspace, '.ralph'), installed), SCHEMA);
    if (folder === dirname(folder)) return `https://unpkg.com/ralph-loop/${SCHEMA}`;
  }
}

const SCHEMA = 'settings.schema.json';
