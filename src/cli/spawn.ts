/**
 * `ralph spawn`: document 003's way to start a loop in the background.
 *
 * 1. Every error exits with 1, and the errors that the document names have its texts.
 * 2. It returns once the daemon owns the loop. With `--wait`, or with the document's `--ralph` and no `--detach`, it shows
 *    the loop and exits as the loop does; Ctrl-C then ends only the view.
 */
import { sandboxRequests } from '../loops/here.ts';
import { resolve } from 'node:path';
import type { Begun, StartRequest } from '../loops/loops.ts';
import { givenFile } from '../loops/given-prompt.ts';
import { NameTaken, NoAgentSelected, NoRepository, TreeNotMade } from '../loops/loops.ts';
import { windowName } from '../loops/summary.ts';
import { UserError } from '../user-error.ts';
import { parseTmuxName, parseVariables, parseWhole } from '../settings/values.ts';
import type { EndedLoop } from '../loops/result.ts';
import { problemWithWindow } from '../loops/window.ts';
import { begin } from './begin.ts';
import { type Then, followInBackground, leaveInBackground, showNotes } from './background.ts';
import type { Console } from './console.ts';
import { type RunOptions, type ViewOptions, flagSettings, hasPlan } from './options.ts';
import { print, warn } from './print.ts';
import { keepDaemonAwake } from '../background/background.ts';

export interface SpawnOptions extends RunOptions {
  readonly branch?: string;
  readonly worktreeDir?: string;
  readonly wait?: boolean;
  /** Document 003's flag was typed: its texts name it, and the command waits for the loop. */
  readonly ralph?: boolean;
  readonly tmux?: boolean;
  readonly session?: string;
  readonly tmuxSocket?: string;
}

export async function spawn(
  task: string | null,
  options: SpawnOptions,
  command: readonly string[],
): Promise<number> {
  const { name, branch, worktreeDir } = options;
  // First, as in the document, whose example of a missing prompt file has no name.
  const given = promptOf(task, options);
  if (name === undefined) throw new UserError('--name is required: ralph spawn --name NAME …');
  const limit = options.maxIterations ?? options.maximumIterations;
  if (limit === undefined)
    throw new UserError(
      options.ralph === true ? '--ralph requires --max-iterations' : `--max-iterations is required: ${USAGE}`,
    );
  const iterations = parseWhole('--max-iterations', limit, 1);
  checkVariables(options.env ?? []);
  if (options.worktree !== true && (branch !== undefined || worktreeDir !== undefined))
    throw new UserError(`${branch === undefined ? '--worktree-dir' : '--branch'} requires --worktree`);
  if (options.wait === true && options.detach === true)
    throw new UserError('cannot use --wait with --detach; drop one of them');
  const waits = options.wait === true || (options.ralph === true && options.detach !== true);
  const window = await windowFor(options);
  if (iterations > MANY) {
    warn('ralph: warning: high iteration count (>50) may consume significant resources\n');
  }
  try {
    return await begin({
      start: {
        ...given,
        command,
        settings: { ...flagSettings(options), preset: 'swarm' },
        worktreeAt: {
          branch: branch ?? '{name}',
          ...(worktreeDir === undefined ? {} : { folder: resolve(worktreeDir) }),
        },
        window,
      },
      options,
      waits,
      detached: (loop, view, ended) => {
        const line = spawnedLine(loop, iterations);
        return waits ? follow(loop, view, { line, ended }) : leaveInBackground(loop, view, line);
      },
    });
  } catch (error) {
    throw inDocumentWords(error, name);
  }
}

const MANY = 50;
const USAGE = 'ralph spawn --name NAME TASK --max-iterations N -- COMMAND';

/** The task, or the prompt file, whose path is resolved here and now. */
function promptOf(task: string | null, options: SpawnOptions): Pick<StartRequest, 'prompt' | 'promptFrom'> {
  const { promptFile, ralph } = options;
  const file = promptFile === '' ? undefined : promptFile;
  const text = task === '' ? null : task;
  if (file === undefined) {
    if (text !== null) return { prompt: { text } };
    if (ralph !== true && hasPlan(options)) return {};
    throw new UserError(
      ralph === true ? '--ralph requires --prompt-file' : `TASK or --prompt-file is required: ${USAGE}`,
    );
  }
  if (text !== null) throw new UserError('cannot specify both a task and --prompt-file');
  try {
    return { prompt: givenFile('prompt file', file, resolve(file)), promptFrom: file };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    const isMissing = error.message === `prompt file not found: ${file}`;
    throw isMissing ? error : new UserError(`prompt file not found: ${file} (${error.message})`);
  }
}

/** A value may be a secret, so that only the name of a variable is shown. */
function checkVariables(pairs: readonly string[]): void {
  for (const pair of pairs) {
    try {
      parseVariables('--env', [pair]);
    } catch {
      const at = pair.indexOf('=');
      const shown = at < 0 ? pair : `${pair.slice(0, at)}=…`;
      throw new UserError(`invalid env format '${shown}' (expected KEY=VAL)`);
    }
  }
}

function spawnedLine({ spec: { name, window } }: Begun, iterations: number): string {
  const place = window === undefined ? '' : ` (tmux: ${windowName(window, name)})`;
  return `spawned ${name}${place} [ralph mode: iteration 1/${iterations}]`;
}

/** The tmux window of the loop; undefined without one. Where tmux is missing the loop does without. */
async function windowFor({
  tmux,
  session,
  tmuxSocket,
  interactive,
}: SpawnOptions): Promise<StartRequest['window']> {
  if (tmux === false) {
    if (interactive === true) throw new UserError('--interactive needs tmux: drop --no-tmux');
    return undefined;
  }
  const window = {
    ...(session === undefined ? {} : { session: parseTmuxName('--session', session) }),
    ...(tmuxSocket === undefined ? {} : { socket: parseTmuxName('--tmux-socket', tmuxSocket) }),
  };
  // There the request refuses a window that is asked for.
  if (sandboxRequests() !== null) return window;
  const problem = await problemWithWindow(window);
  if (problem === null) return window;
  if (!problem.isUnusable || interactive === true)
    throw new UserError(`failed to create tmux window: ${problem.message}`);
  warn(`ralph: warning: ${problem.message}; the loop has no window\n`);
  return undefined;
}

/** Shows the loop until it ends. Ctrl-C leaves it to the daemon. */
function follow(
  loop: Begun,
  view: ViewOptions,
  { line, ended }: { readonly line: string; readonly ended: (loop: EndedLoop) => Promise<void> },
): Then {
  const { name } = loop.spec;
  showNotes(loop, view);
  const stopWaking = keepDaemonAwake();
  const owned = (shown: Console): void => {
    if (view.json !== true && view.quiet !== true) print(`${line}\n`);
    process.once('SIGINT', () => {
      shown.close();
      warn(`\nralph: detached from ${name}, which continues in the background\n`);
      warn(`  watch it: ralph logs ${name} -f\n  stop it: ralph stop ${name}\n`);
      process.exit(130);
    });
  };
  const shown = followInBackground(loop, view, { owned, ended });
  return async () => {
    const code = await shown();
    stopWaking();
    return code;
  };
}

/** The errors of creating a loop for which the document has texts. */
function inDocumentWords(error: unknown, name: string): unknown {
  if (error instanceof NameTaken)
    return new UserError(`worker '${name}' already exists\n${upperFirst(error.message)}`);
  if (error instanceof NoAgentSelected) return new UserError('no command provided (use -- command...)');
  if (error instanceof NoRepository)
    return new UserError(`not in a git repository (required for --worktree)\n${upperFirst(error.why)}`);
  return error instanceof TreeNotMade ? new UserError(`failed to create worktree: ${error.why}`) : error;
}

function upperFirst(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
