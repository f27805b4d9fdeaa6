import { keepTask } from './prompt-source.ts';
import { linkProgress } from '../workspace/aliases.ts';
import { inWorkspaceFolder, prepareFolder, relockWorkspaceFolder } from '../workspace/workspace-folder.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import type { LoopState } from '../loop/state.ts';

/** Makes the workspace folder again after it was removed, with the folder of the run that may need it. */
export function remakeWorkspaceFolder({ spec, folder }: StartedLoop, { turn, policy }: LoopState): void {
  const run = turn.run?.id;
  prepareFolder(spec.workspace);
  relockWorkspaceFolder(folder.workspaceFolder);
  if (policy.taskFolder) keepTask(folder.workspaceFolder, spec.prompt);
  if (policy.progressLink) linkProgress(folder.workspaceFolder);
  if (run !== undefined) inWorkspaceFolder(folder.workspaceFolder, folder.workspaceFolder.run(run), () => {});
}
