/** What a loop would start with. Nothing is started, and nothing is left behind. */
import { dryRun, type DryRun } from '../owner/dry-run.ts';
import { makeRequest, type StartRequest } from '../owner/make-request.ts';
import type { Setting } from '../settings/effective.ts';
import { settingsInEffect } from './settings.ts';

export interface Preview extends DryRun {
  /** What the settings files say: each with the file and the line. */
  readonly settings: readonly Setting[];
}

/** Throws what a real start throws, also `NeedsTrust` for settings that the user does not trust. */
export async function preview(asked: StartRequest): Promise<Preview> {
  const { request } = await makeRequest(asked, { isDry: true });
  const { settings } = await settingsInEffect(request.workspace, asked.settings);
  return { ...(await dryRun(request)), settings: settings.filter(({ origin }) => FROM_FILES.has(origin)) };
}

const FROM_FILES: ReadonlySet<Setting['origin']> = new Set(['file', 'local', 'user']);
