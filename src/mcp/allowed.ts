/**
 * Which changes of loops the settings allow.
 *
 * 1. The user's own settings always count. The settings files of the workspace count only as the user trusts them, because
 *    a repository must not be able to allow anything by itself.
 * 2. They are read for every call, so that a change takes effect at once, also one that forbids.
 */
import { allowedChanges } from '../settings/mcp.ts';
import { LOCAL_SETTINGS_FILE, SETTINGS_FILE, type McpChange } from '../settings/settings.ts';
import { readSettings } from '../settings/read.ts';
import { userSettingsFile } from '../settings/user-settings.ts';
import { trustOf } from '../settings/trust-of.ts';
import { UserError } from '../user-error.ts';

/** What the settings allow in a workspace, and what they would allow if they were trusted. */
export async function changesIn(workspace: string): Promise<Changes> {
  const files = await readSettings(workspace);
  const { open, isTrusted } = trustOf(files, workspace);
  const counts = (file: string): boolean => isTrusted || open.every((one) => one.file !== file);
  const trusted = {
    user: files.user,
    shared: counts(SETTINGS_FILE) ? files.shared : null,
    local: counts(LOCAL_SETTINGS_FILE) ? files.local : null,
  };
  return { allowed: allowedChanges(trusted), wanted: allowedChanges(files) };
}

export interface Changes {
  readonly allowed: readonly McpChange[];
  /** With settings that the user does not trust yet. */
  readonly wanted: readonly McpChange[];
}

/** Throws if the settings do not allow a tool to change a loop. */
export async function requireAllowed(tool: string, change: McpChange, workspace: string): Promise<void> {
  const { allowed, wanted } = await changesIn(workspace);
  if (allowed.includes(change)) return;
  const example = `{"mcp": {"allow": [${[...allowed, change].map((one) => JSON.stringify(one)).join(', ')}]}}`;
  throw new UserError(
    wanted.includes(change)
      ? `${tool} is not allowed yet: the settings of this workspace allow ${JSON.stringify(change)}, but the user does not trust them; a person can review them with: ralph trust --show, and trust them with: ralph trust`
      : `${tool} is not allowed: the setting mcp.allow does not list ${JSON.stringify(change)}; a person can allow it in ${userSettingsFile()} for all workspaces, or in ${SETTINGS_FILE} of this one: ${example}`,
  );
}
