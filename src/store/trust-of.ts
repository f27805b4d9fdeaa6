/** Which settings files of a workspace the user trusts. */
import { contentsOf, type SettingsContent } from '../config/consent.ts';
import type { SettingsFiles } from '../config/read.ts';
import { shellQuote } from '../process/shell-quote.ts';
import { parentRun } from './enclosing-runs.ts';
import { folderAt } from './read-loop.ts';
import { TRUST } from './run-environment.ts';
import type { ParentRun } from './spec.ts';
import { consentsFor, hasConsent, isProtected, type Consent } from './trust.ts';
import { visible } from '../text/one-line.ts';

/** Which settings files need consent, and what the user has consented to before. */
export function trustOf(files: SettingsFiles, workspace: string, parent?: Pick<ParentRun, 'folder'>): Trust {
  const contents = contentsOf(files);
  if (contents.length === 0) return { contents, open: [], consents: [], isInside: false };
  const inside = parent ?? parentRun();
  const consents = [
    // The children of a loop are started in its worktree, which has the settings of the workspace.
    ...(inside === null ? [] : consentsOfLoop(inside.folder)),
    ...(inside !== null || isProtected(workspace) ? consentsFor(workspace) : []),
  ];
  const open = contents.filter((one) => !hasConsent(one, consents));
  return { contents, open, consents, isInside: inside !== null };
}

export interface Trust {
  /** Everything that needs consent. */
  readonly contents: readonly SettingsContent[];
  /** What of it has none. */
  readonly open: readonly SettingsContent[];
  readonly consents: readonly Consent[];
  /** Whether this process works for a run; false also if there is nothing to ask for. */
  readonly isInside: boolean;
}

function consentsOfLoop(folder: string): readonly Consent[] {
  const loop = folderAt(folder);
  return loop === null ? [] : consentsFor(loop.workspace);
}

/** The command with which a person trusts the settings of a workspace from here. */
export function trustCommand(workspace: string): string {
  return workspace === process.cwd() ? 'ralph trust' : `ralph trust --cwd ${shellQuote(visible(workspace))}`;
}

export function isTrustedByEnvironment(env: NodeJS.ProcessEnv): boolean {
  return env[TRUST] === '1';
}
