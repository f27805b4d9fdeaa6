/** What keeps a request from becoming a loop: secrets, an empty prompt, markers outside of the workspace, an orphan on its files. */
import type { Policy } from '../loop/policy.ts';
import { hasKey, hideKeys, secretIn } from '../loop/secrets.ts';
import { type PromptSource, isInSession, treeOf } from '../home/spec.ts';
import { UserError } from '../user-error.ts';
import { presets } from '../loop/presets.ts';
import { isStarterPrompt } from '../loop/starter-prompt.ts';
import { readBase } from './prompt-source.ts';
import { isAbsolute, join } from 'node:path';
import { isInside, realPath } from '../files/files.ts';
import { isInRepository } from '../git/location.ts';
import { orphanOf } from '../home/orphan.ts';
import { readUnfinishedLoops, type LoopReading } from '../home/read-loop.ts';
import type { Environment } from '../process/process.ts';

/** Refuses checks, set-up commands, SCM tasks and prompts with a secret, because they end up in the journal and in logs. */
export function refuseSecrets({ policy, prompt, env, worktree }: RequestWithTexts): void {
  const { checks, commit, worktree: tree } = policy;
  for (const command of worktree === true ? tree.setup : []) refuseKey('a set-up command', command, env);
  for (const { command } of checks.commands) refuseKey('a check', command, env);
  for (const words of commit === null ? [] : [commit.command, ...commit.tasks])
    refuseSecret('an SCM task', words, env, 'use a credential helper instead');
  if ('text' in prompt) refuseSecret('the prompt', prompt.text, env, 'remove it');
}

interface RequestWithTexts {
  readonly policy: Policy;
  readonly prompt: PromptSource;
  readonly env: Environment;
  readonly worktree?: boolean;
}

/** Refuses the value of a secret variable. */
function refuseSecret(what: string, text: string, env: Environment, remedy?: string): void {
  const name = secretIn(text, env);
  if (name === null) return;
  const instead = remedy ?? `write '$${name}' in single quotes instead`;
  throw new UserError(`${what} contains the value of $${name}; ${instead}, to keep it out of the logs`);
}

/** Also refuses a text that looks like a key. */
function refuseKey(what: string, command: string, env: Environment): void {
  refuseSecret(what, command, env);
  if (!hasKey(command)) return;
  throw new UserError(
    `${what} contains what looks like a key: ${hideKeys(command)}; pass it as a variable (--env NAME=…) and write '$NAME' instead, to keep it out of the logs`,
  );
}

/** Refuses the starter prompt, and a prompt without a word in it; returns a warning instead where the preset allows an empty one. */
export function refuseEmptyPrompt({ prompt, promptFrom, policy }: PromptRequest): readonly string[] {
  const text = textOf(prompt);
  if (text === null || text.trim() !== '') {
    return text !== null && isStarterPrompt(text) ? refuseStarterPrompt(promptFrom ?? null, policy) : [];
  }
  const { emptyPrompts } = presets[policy.preset];
  const file = promptFrom ?? ('file' in prompt ? prompt.file : 'spec' in prompt ? prompt.spec : null);
  const where = file === null ? 'the prompt is empty' : `the prompt is empty: ${file} has no text`;
  if (emptyPrompts === 'everywhere' || (emptyPrompts === 'in-files' && file !== null))
    return [`warning: ${where}; the agent gets no task`];
  throw new UserError(`${where}; write down what the agent should do`);
}

/** It is a warning where the preset takes every prompt: document 003 starts loops with it as it is. */
function refuseStarterPrompt(file: string | null, { preset }: Policy): readonly string[] {
  const where = file === null ? 'down' : `in ${file}`;
  const problem = `the prompt is the starter prompt of ralph init --prompt, which was not edited; write ${where} what the agent should do in this project`;
  if (presets[preset].emptyPrompts === 'everywhere') return [`warning: ${problem}`];
  throw new UserError(problem);
}

/** Null for a file that disappeared, which the first run reports. */
function textOf(prompt: PromptSource): string | null {
  try {
    return readBase(prompt).text;
  } catch {
    return null;
  }
}

interface PromptRequest {
  readonly prompt: PromptSource;
  /** Where the text of the prompt was read from, if from a file or a pipe; as the user named it. */
  readonly promptFrom?: string | undefined;
  readonly policy: Policy;
}

/**
 * Refuses marker files outside of the workspace, because Ralph moves a rejected marker. A relative path is in the loop's own
 * folder. Links on the way are resolved, so that a repository cannot lead out of the workspace with one.
 */
export function refuseMarkers({ completion }: Policy, workspace: string): void {
  const files = completion.detectors.flatMap((one) => (one.kind === 'marker' ? [one.file] : []));
  const { marker } = completion.handOver;
  for (const file of marker === null ? files : [...files, marker]) {
    const folder = realPath(workspace);
    const path = isAbsolute(file) ? realPath(file) : join(folder, file);
    if (!isInside(folder, path))
      throw new UserError(
        `${file} is outside of the workspace ${workspace}; a marker file (--done-file, doneFile) must be in the workspace`,
      );
  }
}

/** Refuses a loop on files that an orphaned agent works on; returns notes about crashed loops with the same prompt. */
export function refuseOrphans(request: {
  readonly workspace: string;
  readonly name: string | null;
  readonly prompt: PromptSource;
  readonly worktree?: boolean;
  readonly parent: unknown;
}): readonly string[] {
  const { workspace, name, prompt } = request;
  // An orphaned agent may start a loop in its own folder. A loop of the same name is judged where the name is taken.
  const others = readUnfinishedLoops(workspace).filter(
    ({ spec, owner }) => owner === null && spec.name !== name && !isInSession(spec),
  );
  if (request.worktree !== true && request.parent === null) {
    for (const loop of others) {
      const pid = treeOf(loop.spec) === workspace ? orphanOf(loop) : null;
      if (pid !== null) throw stillWorking(loop.spec.name, pid, workspace);
    }
  }
  return others.filter((loop) => isCrash(loop, prompt)).map(({ spec }) => crashed(spec.name));
}

function stillWorking(name: string, pid: number, workspace: string): UserError {
  const instead = isInRepository(workspace) ? ', or give the new loop its own files with: --worktree' : '';
  return new UserError(
    `the agent of the loop "${name}" (process ${pid}) still works on these files, although the Ralph process that started it is gone; reattach to it with: ralph resume ${name}, stop it with: ralph stop ${name} --now${instead}`,
  );
}

function isCrash({ spec, state }: LoopReading, prompt: PromptSource): boolean {
  return !state.control.paused && JSON.stringify(spec.prompt) === JSON.stringify(prompt);
}

function crashed(name: string): string {
  return `the loop ${name} has the same prompt and did not finish; to continue it instead, use: ralph resume ${name}`;
}
