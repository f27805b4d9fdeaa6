/**
 * What is secret of the notices of a loop, kept like its environment: only this user can read it, and it is removed once the
 * loop has ended and every notice is sent. And which loops may have notices that are not sent: one empty file per loop.
 */
import { loopId } from './spec.ts';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER, makeFolders, namesIn, readJsonFile } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { fields, fits, optional, shortText, table } from '../loop/shape.ts';
import { livingOwner } from './lock-owner.ts';
import { loopsFolder } from './home.ts';
import { removeQuietly, stateFolder, writeJson } from './state-folder.ts';

/** By the name of the target. */
export type NoticeSecrets = Readonly<Record<string, NoticeSecret>>;

export interface NoticeSecret {
  readonly address: string;
  readonly key?: string;
}

export function keepNotices(id: string, secrets: NoticeSecrets): void {
  if (Object.keys(secrets).length > 0) writeJson(join(stateFolder(), 'notices'), id, secrets);
}

export function keptNotices(id: string): NoticeSecrets {
  const value = readJsonFile(join(stateFolder(), 'notices', `${id}.json`));
  return isSecrets(value) ? value : {};
}

export function forgetNotices(id: string, state: string): void {
  removeQuietly(join(state, 'notices', `${id}.json`));
}

/** The secrets as an environment, whose values are masked. */
export function maskedNotices(id: string): Readonly<Record<string, string>> {
  const values = Object.values(keptNotices(id)).flatMap(({ address, key = '' }) =>
    parts(address).concat(address, key),
  );
  return Object.fromEntries(values.map((value, index) => [`NOTICE_SECRET_${index}`, value]));
}

/** What is secret of an address is its path, and what comes after that. */
function parts(address: string): readonly string[] {
  const rest = /^[\w+]+:\/\/[^/]*\/(.{8,})$/.exec(address)?.[1];
  return rest === undefined ? [] : [rest];
}

function isSecrets(value: unknown): value is NoticeSecrets {
  return fits(SECRETS, value);
}

const SECRETS = table(fields({ address: shortText(10_000), key: optional(shortText(10_000)) }));

/** A process is about to send notices of this loop. */
export function noteUnsent(id: string): void {
  makeFolders(unsentFolder(), PRIVATE_FOLDER);
  replaceFile(join(unsentFolder(), id), '', { mode: PRIVATE_FILE });
}

/** Every notice is sent. */
export function forgetUnsent(id: string): void {
  removeQuietly(join(unsentFolder(), id));
}

export function isUnsent(id: string, state: string = stateFolder()): boolean {
  return existsSync(join(unsentFolder(state), id));
}

/** The loops that may have notices to send and that no process drives. */
export function unsent(): readonly string[] {
  return namesIn(unsentFolder()).filter(
    (id) => fits(loopId, id) && livingOwner(join(loopsFolder(), id, 'lock')) === null,
  );
}

function unsentFolder(state: string = stateFolder()): string {
  return join(state, 'unsent');
}
