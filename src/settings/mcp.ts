import type { McpChange, Settings } from './settings.ts';

/** What tools of `ralph mcp` may do: what the user's own settings allow, and what those of the workspace allow. */
export function allowedChanges({ user, shared, local }: McpLayers): readonly McpChange[] {
  const ofWorkspace = local?.mcp?.allow ?? shared?.mcp?.allow ?? [];
  return [...new Set([...(user?.mcp?.allow ?? []), ...ofWorkspace])];
}

/** Null for a file that does not exist, or that must not count. */
export interface McpLayers {
  readonly user: Pick<Settings, 'mcp'> | null;
  readonly shared: Settings | null;
  readonly local: Settings | null;
}
