/**
 * The settings that the user trusts, in `trust/` of the state folder: one file per workspace, which only the user can read.
 *
 * 1. Consent holds for one workspace (its real path) and one normalised content; earlier contents stay trusted, so that a
 *    change of branches and back does not ask again.
 * 2. A file that is not exactly as `recordConsent` writes it holds no consent.
 * 3. A state folder inside the workspace may come with the repository, so what it holds is no consent.
 */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SettingsContent } from './consent.ts';
import { readJsonFile, isInside, realPath } from '../files/files.ts';
import { isRecord, list, object, rule, string } from '../loop/shape.ts';
import { removeQuietly, stateFolder, writeJson } from '../home/state-folder.ts';

/** A content that the user has consented to. */
export interface Consent extends SettingsContent {
  readonly hash: string;
  readonly at: string;
}

/** The consents for a workspace, the oldest first. */
export function consentsFor(workspace: string, state: string = stateFolder()): readonly Consent[] {
  const value = readJsonFile(fileOf(workspace, state));
  if (RECORD(value, 'trust').length > 0) return [];
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- just validated
  const record = value as TrustRecord;
  if (record.workspace !== workspace) return [];
  return record.consents.filter((one) => hashOf(one.content) === one.hash);
}

/** The state folder if a repository can put consents there: it is in the workspace. Null otherwise. */
export function unprotectedState(workspace: string, state: string = stateFolder()): string | null {
  const [folder, root] = [realPath(state), realPath(workspace)];
  return folder === root || isInside(root, folder) ? state : null;
}

export function hasConsent(
  { file, content }: SettingsContent,
  consents: readonly SettingsContent[],
): boolean {
  return consents.some((one) => one.file === file && hashOf(one.content) === hashOf(content));
}

/** Adds consents for a workspace. Of two processes that do so at the same time, one may have to ask again. */
export function recordConsent(
  workspace: string,
  contents: readonly SettingsContent[],
  state: string = stateFolder(),
): void {
  const given = contents.map(({ file, content }): Consent => ({
    file,
    hash: hashOf(content),
    content,
    at: new Date().toISOString(),
  }));
  const others = consentsFor(workspace, state).filter((one) => !hasConsent(one, given));
  const record: TrustRecord = { version: 1, workspace, consents: [...others, ...given].slice(-MAX_KEPT) };
  writeJson(join(state, 'trust'), idOf(workspace), record);
}

/** Forgets all consents for a workspace; returns whether there were any. */
export function revokeConsent(workspace: string, state: string = stateFolder()): boolean {
  const path = fileOf(workspace, state);
  const isThere = existsSync(path);
  removeQuietly(path);
  return isThere;
}

function hashOf(content: SettingsContent['content']): string {
  return hash('sha256', JSON.stringify(content));
}

interface TrustRecord {
  readonly version: 1;
  readonly workspace: string;
  readonly consents: readonly Consent[];
}

const RECORD = object({
  version: rule('1', (value) => value === 1),
  workspace: string,
  consents: list(object({ file: string, hash: string, content: rule('an object', isRecord), at: string })),
});

/** More contents than a repository has branches with their own settings. */
const MAX_KEPT = 50;

function fileOf(workspace: string, state: string): string {
  return join(state, 'trust', `${idOf(workspace)}.json`);
}

function idOf(workspace: string): string {
  return hash('sha256', workspace).slice(0, 32);
}
