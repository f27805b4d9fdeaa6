/**
 * Builds the host of a loop's agent: a process with a command line for each run, a pane of tmux, a call of a function, or
 * the turns of a session.
 *
 * 1. Only this file decides which host a loop has, by its policy. A loop keeps its host for as long as its policy does.
 * 2. A run in a pane has the files and the marker of a run as a process, so the code that ends one without its loop
 *    (`owner/recovery.ts`) need not know its host.
 */
import { readFileSync, statSync } from 'node:fs';
import type { PromptVia } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { commandLine, promptWay } from '../agents/call.ts';
import type { Draft } from '../bus/message.ts';
import { functionHost } from '../hosts/function.ts';
import type { CallSpec, Performer } from '../hosts/function-call.ts';
import type { Host } from '../hosts/host.ts';
import type { PaneSpec } from '../hosts/pane-run.ts';
import { processHost, type ProcessSpec } from '../hosts/process.ts';
import { sessionHost, type SessionTurns } from '../hosts/session.ts';
import { tmuxHost } from '../hosts/tmux.ts';
import type { LoopState } from '../loop/state.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { clearGuarded } from '../sandbox/guard.ts';
import { linkAlias, aliasOrPath, promptAlias } from '../workspace/aliases.ts';
import { inWorkspaceFolder, putInWorkspaceFolder } from '../workspace/workspace-folder.ts';
import { runMarker, type StartedLoop } from '../home/run-environment.ts';
import { redact } from '../loop/secrets.ts';
import { isInSession, treeOf, type Spec, idsOf } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { tmuxServerOf } from '../home/tmux-server.ts';
import type { TmuxServer } from '../tmux/server.ts';
import { explained } from './refusals.ts';
import { agentEnvironment } from './loop-environment.ts';
import { guardedHost, sandboxed } from './sandboxed-agent.ts';
import type { RunFacts } from '../projections/run-info.ts';

export function agentHost(
  loop: StartedLoop,
  { perform, turns = NO_TURNS }: AgentProgram,
  state: () => LoopState,
  say: (line: string) => void,
): Host {
  const environment = (run: string): Record<string, string> =>
    agentEnvironment({ ...loop, run, policy: state().policy }, agentNamed(loop.spec.agent.kind));
  const { folder } = loop;
  const describe = (run: string): ProcessSpec => asProcess(loop, run, environment(run), state());
  // Looked up in the user database, so not for a loop without windows.
  let server: TmuxServer | null = null;
  // Made when they are needed: most loops have one of them.
  const makers = {
    process: () =>
      guardedHost(
        processHost((run) => sandboxed(loop, describe(run), state(), say)),
        () => clearGuarded(folder, say),
      ),
    pane: () =>
      tmuxHost((run) =>
        inPane(loop, run, describe(run), {
          server: (server ??= tmuxServerOf(loop.spec)),
          state: state(),
          say,
        }),
      ),
    call: (by: Performer) => functionHost((run) => asCall(loop, run, environment(run)), by),
    session: () => sessionHost((run) => ({ folder: folder.run(run), prompt: folder.prompt(run) }), turns),
  };
  const hosts: { [kind in keyof typeof makers]?: Host } = {};
  const current = (): Host => {
    if (isInSession(loop.spec)) return (hosts.session ??= makers.session());
    if (perform !== undefined) return (hosts.call ??= makers.call(perform));
    return state().policy.host === 'tmux'
      ? (hosts.pane ??= makers.pane())
      : (hosts.process ??= makers.process());
  };
  // The agent's own folder of a run; the workspace folder may have been removed.
  const makeRunFolder = (run: string): void =>
    inWorkspaceFolder(folder.workspaceFolder, folder.workspaceFolder.run(run), () => {});
  const start: Host['start'] = (planned) =>
    explained(folder.path, async () => {
      makeRunFolder(planned.run);
      return current().start(planned);
    });
  return {
    start,
    find: (planned) => current().find(planned),
    get outlivesOwner() {
      return current().outlivesOwner;
    },
    get hasTurn() {
      return current().hasTurn === true;
    },
  };
}

/** What the program that owns a loop brings, where the agent is no command. */
export interface AgentProgram {
  /** Does the agent's work, where the agent is a function of this program. */
  readonly perform?: Performer | undefined;
  /** The turns of the session, where the agent lives in one. Without it, this program can only end the loop. */
  readonly turns?: SessionTurns | undefined;
  /** Takes the loop's own messages, instead of the bus of its task. It never fails. */
  readonly post?: ((message: Draft) => Promise<void>) | undefined;
}

const NO_TURNS: SessionTurns = { hasTurn: false, take: () => null, prompted: () => {} };

/** A run in a pane gets its prompt from its terminal. */
function inPane(
  { spec, folder }: StartedLoop,
  run: string,
  process: ProcessSpec,
  { server, state, say }: Pick<PaneSpec, 'server' | 'say'> & { readonly state: LoopState },
): PaneSpec {
  return {
    ...process,
    argv: () => spec.agent.argv,
    stdin: null,
    server,
    window: { loop: spec.id, name: spec.name },
    prompt: folder.prompt(run),
    readyMs: state.policy.timeouts.readyMs,
    say,
  };
}

/** The agent's command line and the variables that are set for it, without secrets. */
export function shownCommand({ spec, folder, env }: StartedLoop, state: LoopState): string {
  const agent = agentNamed(spec.agent.kind);
  const argv = argvOf(
    { spec, folder, promptFile: '<prompt>' },
    '1.1',
    promptWay(agent, spec.agent, 0),
    state,
    () => '<prompt>',
  );
  const variables = Object.entries(spec.agent.env ?? {}).map(([name, value]) => `${name}=${value}`);
  return [...variables, ...redact(argv, env)].map(shownWord).join(' ');
}

/** Quotes a word, but not because of what stands in the place of the prompt or of a secret. */
function shownWord(word: string): string {
  const filled = word.replaceAll(/<(?:prompt|redacted)>/g, 'x');
  return shellQuote(filled) === filled ? word : shellQuote(word);
}

function asProcess(
  { spec, folder }: StartedLoop,
  run: string,
  env: Record<string, string>,
  state: LoopState,
): ProcessSpec {
  const agent = agentNamed(spec.agent.kind);
  const prompt = folder.prompt(run);
  const via = promptWay(agent, spec.agent, statSync(prompt, { throwIfNoEntry: false })?.size ?? 0);
  return {
    folder: folder.run(run),
    argv: () => {
      const promptFile = promptFileFor({ spec, folder }, run, via, state);
      return argvOf({ spec, folder, promptFile }, run, via, state, () => readFileSync(prompt, 'utf8'));
    },
    cwd: treeOf(spec),
    env,
    // With `--prompt-via file` a known agent also gets the prompt on stdin, since a file name alone is not a prompt.
    stdin: via === 'stdin' || (via === 'file' && agent.call !== null) ? prompt : null,
    marker: runMarker(spec, run),
  };
}

function asCall({ spec, folder }: StartedLoop, run: string, env: Record<string, string>): CallSpec {
  return {
    folder: folder.run(run),
    promptFile: folder.prompt(run),
    workspace: treeOf(spec),
    env,
    marker: runMarker(spec, run),
  };
}

/** The path under which the agent opens its prompt: a copy in the workspace folder, or the alias of document 001 for it. */
function promptFileFor(
  { spec, folder }: Pick<StartedLoop, 'spec' | 'folder'>,
  run: string,
  via: PromptVia,
  { policy }: LoopState,
): string {
  if (via !== 'file') return folder.prompt(run);
  const file = folder.workspaceFolder.prompt(run);
  putInWorkspaceFolder(folder.workspaceFolder, file, readFileSync(folder.prompt(run), 'utf8'));
  // A path relative to the workspace is wrong in a worktree.
  if (!policy.aliases || spec.worktree !== undefined) return file;
  linkAlias(spec.workspace, promptAlias(run), file);
  return aliasOrPath(spec.workspace, promptAlias(run), file);
}

function argvOf(
  { spec, folder, promptFile }: { spec: Spec; folder: LoopFolder; promptFile: string },
  run: string,
  via: PromptVia,
  state: LoopState,
  prompt: () => string,
): readonly string[] {
  return commandLine(agentNamed(spec.agent.kind), spec.agent, {
    // Document 001 asks for a commit message in plain text, which reports no usage.
    output: state.turn.messageRun?.id === run && state.policy.calls === 'documented' ? 'text' : 'stream',
    folder: folder.workspaceFolder.run(run),
    via,
    promptFile,
    prompt,
  });
}

/** What the records of a loop's runs say that its journal does not. */
export function runFacts(loop: StartedLoop, state: LoopState): RunFacts {
  const { spec } = loop;
  return {
    ids: { ...idsOf(spec), parent: spec.parent?.run ?? '' },
    idOf: (run) => runMarker(spec, run).value,
    agent: spec.agent.kind,
    cwd: treeOf(spec),
    commandline: shownCommand(loop, state),
  };
}
