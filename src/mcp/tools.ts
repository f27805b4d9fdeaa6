/** Which tools a client gets: those for an agent inside a run, those for a person's assistant, or both. */
import { changesIn } from './allowed.ts';
import { busTools } from './bus-tools.ts';
import { changeTools } from './change-tools.ts';
import { childTools } from './child-tools.ts';
import { claimTools } from './claim-tools.ts';
import { loopsFor, loopsHere } from './loops.ts';
import type { OwnLoop } from '../loops/own-loop.ts';
import { readTools, statusTool } from './read-tools.ts';
import type { Tool, WorkspaceOf } from './tool.ts';

/** The tools for a client in this workspace; `own` is the loop of the run that it is inside of. */
export async function toolsFor(workspace: string, own: OwnLoop | null): Promise<readonly Tool[]> {
  const workspaceOf: WorkspaceOf = (name) => (own !== null && name === own.name ? own.workspace : workspace);
  const loops = loopsFor(own);
  const status = statusTool(loops, workspaceOf, own?.name ?? null);
  if (own === null)
    return [...readTools(loopsHere(), workspaceOf), status, ...changeTools(loops, workspaceOf)];
  const forRun = [
    ...claimTools(loops, own, workspace),
    ...busTools(own),
    ...childTools(loops, workspace, own.requests !== null),
    status,
  ];
  // In a sandbox the state of other loops is hidden.
  if (own.requests !== null) return forRun;
  // An agent cannot change the settings, so it sees only what they allow. It starts loops as children.
  const { allowed } = await changesIn(workspace);
  const changes = changeTools(loops, workspaceOf).filter(
    ({ change }) => change !== null && change !== 'start' && allowed.includes(change),
  );
  return [...forRun, ...readTools(loopsHere(), workspaceOf), ...changes];
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
    'Only files and messages survive your run: post what the next run or a person should know with post_message.',
    'See what verifies your work with check_results. When the whole task is done, call claim_done and end your run.',
    'If you need a decision of a person, call ask_question, then wait_for_answer; if no answer comes, end your run, and the loop waits.',
    'Give parts of the work to other agents with start_child, and wait for them with wait_for_child.',
  ].join('\n');
}
