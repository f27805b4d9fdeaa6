/**
 * Decides whether loops may use the settings files of a workspace: a repository must not run commands that its user has not
 * seen. A front only shows what is open, and asks.
 *
 * 1. Consent is for contents. What the user has agreed to is compared with what a loop is about to use.
 * 2. A process inside a run cannot consent, whatever its options and environment say.
 */
import { type SettingsContent, contentsOf } from './consent.ts';
import type { SettingsFiles } from './read.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { parentRun } from '../home/enclosing-runs.ts';
import { folderAt } from '../home/read-loop.ts';
import { TRUST } from '../home/run-environment.ts';
import type { ParentRun } from '../home/spec.ts';
import { visible } from '../text/one-line.ts';
import { prepareState } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';
import { type Consent, consentsFor, hasConsent, recordConsent, unprotectedState } from './trust.ts';

/** What the user has just agreed to: these contents, or whatever there is. */
export type Agreed = boolean | readonly SettingsContent[];

/** Whether the settings files are trusted, and what needs consent. By default this process asks; otherwise a run, or null for a person. */
export function trustOf(
  files: SettingsFiles,
  workspace: string,
  agreed: Agreed = false,
  asking?: Pick<ParentRun, 'folder'> | null,
): Trust {
  const contents = contentsOf(files);
  if (contents.length === 0)
    return { workspace, contents, open: [], consents: [], isInside: false, isTrusted: true };
  const inside = asking === undefined ? parentRun() : asking;
  const isInside = inside !== null;
  const consents = [
    // The children of a loop are started in its worktree, which has the settings of the workspace.
    ...(inside === null ? [] : consentsOfLoop(inside.folder)),
    ...(isInside || unprotectedState(workspace) === null ? consentsFor(workspace) : []),
  ];
  const open = contents.filter((one) => !hasConsent(one, consents));
  const isAgreed = typeof agreed === 'boolean' ? agreed : open.every((one) => hasConsent(one, agreed));
  const isTrusted = open.length === 0 || (!isInside && (isAgreed || process.env[TRUST] === '1'));
  return { workspace, contents, open, consents, isInside, isTrusted };
}

export interface Trust {
  readonly workspace: string;
  /** Everything that needs consent. */
  readonly contents: readonly SettingsContent[];
  /** What of it has none that was recorded. */
  readonly open: readonly SettingsContent[];
  readonly consents: readonly Consent[];
  /** Whether this process works for a run; false also if there is nothing to ask for. */
  readonly isInside: boolean;
  /** Whether a loop may use all of it: nothing is open, or the user agrees with `--trust`, RALPH_TRUST or an answer. */
  readonly isTrusted: boolean;
}

/** Settings that are not trusted. A front that can ask shows them and starts again with what the user agrees to. */
export class NeedsTrust extends UserError {
  readonly trust: Trust;

  constructor(trust: Trust) {
    const { open, workspace, isInside } = trust;
    const place = visible(workspace);
    const remedy = isInside
      ? `and an agent cannot trust settings; a person has to run in ${place}: ralph trust`
      : 'review with: ralph trust --show, then trust with: ralph trust (in a terminal, in that folder)';
    const what = `${namesOf(open)} of ${place} ${open.length === 1 ? 'is' : 'are'} not trusted yet`;
    super(`${what}${isInside ? ',' : ';'} ${remedy}`);
    this.trust = trust;
  }
}

function namesOf(contents: readonly SettingsContent[]): string {
  return contents.map(({ file }) => file).join(' and ');
}

function consentsOfLoop(folder: string): readonly Consent[] {
  const loop = folderAt(folder);
  return loop === null ? [] : consentsFor(loop.workspace);
}

/** Records consent where the loops of the workspace are kept; returns that folder if it does not count there. */
export function keepConsent(workspace: string, contents: readonly SettingsContent[]): string | null {
  prepareState(workspace);
  recordConsent(workspace, contents);
  return unprotectedState(workspace);
}

/** The command with which a person trusts the settings of a workspace from here. */
export function trustCommand(workspace: string): string {
  return workspace === process.cwd() ? 'ralph trust' : `ralph trust --cwd ${shellQuote(visible(workspace))}`;
}
