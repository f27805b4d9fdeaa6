import { hash } from 'node:crypto';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { PRIVATE_FILE, PRIVATE_FOLDER, UnusableFile, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { agentNamed } from '../agents/agents.ts';
import type { EffectOf, WrittenPrompt } from '../engine/ports.ts';
import type { Policy } from '../loop/policy.ts';
import { renderPrompt, STDERR, type PromptInputs, type PromptPlan } from '../loop/prompt.ts';
import type { PreambleInputs } from '../loop/preamble.ts';
import { diffForPrompt } from '../workspace/checkpoints.ts';
import { checkAlias, aliasOrPath } from '../workspace/aliases.ts';
import { readOutput } from '../projections/check-output.ts';
import { readExcerpt } from '../files/excerpts.ts';
import { hideKeys, masked } from '../loop/secrets.ts';
import { putInWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { runVariables, type StartedLoop } from '../home/run-environment.ts';
import type { WorkspaceFolder } from '../home/home.ts';
import type { LoopBus } from './loop-bus.ts';
import { readBase, type PromptBase } from './prompt-source.ts';

/** Renders the prompt of a run and writes it where the agent reads it. */
export async function writePrompt(loop: PromptedLoop, effect: EffectOf<'run'>): Promise<WrittenPrompt> {
  const { spec, folder } = loop;
  let base: PromptBase;
  try {
    base = readBase(spec.prompt, { followLinks: loop.policy().sandbox === null });
  } catch (error) {
    const path = 'file' in spec.prompt ? spec.prompt.file : 'the prompt';
    const why = error instanceof UnusableFile ? ` (${error.reason})` : '';
    return error instanceof Error && 'code' in error && error.code === 'ENOENT'
      ? { error: { kind: 'prompt-missing', message: `prompt file not found: ${path}` } }
      : { error: { kind: 'prompt-unreadable', message: `cannot read prompt file: ${path}${why}` } };
  }
  const isShown = effect.plan.sections.some(({ kind }) => kind === 'messages');
  const unread = isShown ? loop.bus.unread(effect.messagesAfter) : null;
  const text = await promptText(loop, effect, base, unread?.text ?? '');
  const path = folder.prompt(effect.run);
  makeFolders(folder.run(effect.run), PRIVATE_FOLDER);
  replaceFile(path, text, { mode: PRIVATE_FILE });
  if (loop.policy().taskFolder)
    showInWorkspaceFolder(folder.workspaceFolder, folder.workspaceFolder.prompt(effect.run), text);
  loop.prompted(() => masked(text.slice(0, 1000), loop.env));
  return {
    path: relative(folder.path, path),
    hash: hash('sha256', text),
    base: hash('sha256', base.text),
    ...(unread === null ? {} : { messagesUpTo: unread.upTo }),
  };
}

/** The prompt of a run, as the agent gets it. */
export async function promptText(
  loop: PromptSourceLoop,
  effect: Pick<EffectOf<'run'>, 'plan' | 'run'>,
  base: PromptBase,
  messages: string,
): Promise<string> {
  const inputs = await gather(loop, effect, base, messages);
  // A command-line argument cannot contain a NUL.
  return renderPrompt(withoutKeys(effect.plan), inputs).replaceAll('\0', '\uFFFD');
}

/** Writes a copy of the prompt for people, as private as the prompt itself; a workspace folder that cannot be written is no reason to end the loop. */
function showInWorkspaceFolder(workspaceFolder: WorkspaceFolder, path: string, text: string): void {
  try {
    putInWorkspaceFolder(workspaceFolder, path, text, { mode: PRIVATE_FILE });
  } catch {
    // The agent gets the prompt from the state.
  }
}

/** What the text of a prompt is made from. */
interface PromptSourceLoop extends StartedLoop {
  readonly policy: () => Policy;
  /** Says what takes long. */
  readonly say: (line: string) => void;
  /** The progress file, up to date. */
  readonly readProgress: () => string;
}

export interface PromptedLoop extends PromptSourceLoop {
  readonly bus: LoopBus;
  /** Called with the beginning of the prompt, without secrets. */
  readonly prompted: (text: () => string) => void;
}

/** Masks keys in the commands of the checks, which the agent reads. */
function withoutKeys({ sections }: PromptPlan): PromptPlan {
  return {
    sections: sections.map((section) => {
      if ('checks' in section) return { ...section, checks: section.checks.map(hideKeys) };
      if (section.kind === 'failed-check') return hide(section);
      return section.kind === 'check-errors' ? { ...section, failed: section.failed.map(hide) } : section;
    }),
  };
}

function hide<T extends { readonly command: string }>(one: T): T {
  return { ...one, command: hideKeys(one.command) };
}

/** Gathers only what the sections of the plan need. */
async function gather(
  loop: PromptSourceLoop,
  { plan, run }: Pick<EffectOf<'run'>, 'plan' | 'run'>,
  base: PromptBase,
  messages: string,
): Promise<PromptInputs> {
  const { spec, env, policy, readProgress } = loop;
  const failed = plan.sections.flatMap((section) => {
    if (section.kind === 'failed-check') return [section];
    return section.kind === 'check-errors' ? section.failed : [];
  });
  const has = (kind: string): boolean => plan.sections.some((section) => section.kind === kind);
  const checkOutput = Object.fromEntries(
    failed.map(({ index, log, excerpt }) => [
      index,
      readOutput(loop.folder.log(log), excerpt, (text) => masked(text, env)),
    ]),
  );
  const checkLog =
    policy().aliases && spec.worktree === undefined
      ? Object.fromEntries(failed.map(({ index, log }) => [index, shownLog(spec.workspace, log)]))
      : {};
  const diff = plan.sections.find((section) => section.kind === 'diff');
  const failedRun = plan.sections.find((section) => section.kind === 'execution-error')?.run ?? null;
  const progress = has('progress') ? masked(readProgress(), env) : '';
  return {
    base: base.text,
    isSpecification: base.isSpecification,
    diff: diff === undefined ? '' : await diffForPrompt(loop, diff.excerpt),
    progress,
    messages,
    checkOutput,
    checkLog,
    ...(failedRun === null ? {} : { stderr: stderrOf(loop, failedRun) }),
    ...(has('preamble') ? { preamble: preambleOf(loop, run) } : {}),
  };
}

/** The end of what a run printed on stderr, without the log that Ralph has asked its CLI for. */
function stderrOf({ spec, folder, env }: PromptSourceLoop, run: string): string {
  const text = readExcerpt(join(folder.run(run), 'stderr.log'), STDERR);
  const { ownLog } = agentNamed(spec.agent.kind);
  const lines = stripVTControlCharacters(masked(text, env)).split(/\r?\n/);
  return lines.filter((line) => ownLog === undefined || !line.startsWith(ownLog.prefix)).join('\n');
}

function preambleOf(loop: PromptSourceLoop, run: string): PreambleInputs {
  const { spec, folder } = loop;
  const variables = runVariables({ spec, folder, run, policy: loop.policy() });
  const { kind } = spec.agent;
  return {
    variables: Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('JRUN_'))),
    outputFile: folder.workspaceFolder.output(run),
    doneFile: variables.RALPH_DONE_FILE,
    agent: agentNamed(kind).call === null ? null : kind,
  };
}

/** The path of a check's log for document 001: its alias if there is one. */
function shownLog(workspace: string, log: string): string {
  const iteration = Number.parseInt(basename(dirname(dirname(log))), 10);
  return aliasOrPath(workspace, checkAlias(iteration, log), resolve(workspace, log));
}
