/** Which tools a client gets: those for an agent inside a run, those for a person's assistant, or both. */
import { changesIn } from './allowed.ts';
import { changeTools } from './change-tools.ts';
import type { OwnLoop } from './own-loop.ts';
import { readTools, statusTool } from './read-tools.ts';
import type { Tool, WorkspaceOf } from './tool.ts';

/** The tools for a client in this workspace; `own` is the loop of the run that it is inside of. */
export async function toolsFor(workspace: string, own: OwnLoop | null): Promise<readonly Tool[]> {
  const workspaceOf: WorkspaceOf = (name) => (own !== null && name === own.name ? own.workspace : workspace);
  const status = statusTool(workspaceOf, own?.name ?? null);
  if (own === null) return [...readTools(workspaceOf), status, ...changeTools(workspaceOf)];
  // In a sandbox the state of other loops is hidden.
  if (own.isSandboxed) return [status];
  // An agent cannot change the settings, so it sees only what they allow. It starts loops as children.
  const { allowed } = await changesIn(workspace);
  const changes = changeTools(workspaceOf).filter(
    ({ change }) => change !== null && change !== 'start' && allowed.includes(change),
  );
  return [status, ...readTools(workspaceOf), ...changes];
}

/** What a client tells its model about this server. */
export function instructionsFor(own: OwnLoop | null): string {
  return own === null ? OUTSIDE : inside(own.name);
}

const OUTSIDE = [
  'Ralph runs a coding agent again and again, each time with a fresh context, until the work is verifiably done. Such a run is a loop.',
  'Look at loops with list_loops, loop_status, loop_story and loop_logs.',
  'Tools that change a loop work only if the setting mcp.allow lists the change; an error says what the user can set. Do not change that setting yourself.',
].join('\n');

function inside(name: string): string {
  return [
    `You are working inside a run of the Ralph loop ${JSON.stringify(name)}: Ralph starts you again with a fresh context until the work is done and verified.`,
  ].join('\n');
}
