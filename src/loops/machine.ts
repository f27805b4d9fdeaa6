/** What this machine has for loops: the programs are run, and no model is called. */
import type { Environment } from '../process/process.ts';
import { accessSync, constants, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent, AgentCall } from '../agents/agent.ts';
import { ALL_AGENTS } from '../agents/agents.ts';
import { makeFolders } from '../files/files.ts';
import { probeSandbox } from '../sandbox/probe.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { stateFolder } from '../home/state-folder.ts';
import { findCommand } from '../process/command.ts';
import { exec } from '../process/exec.ts';
import { otherRalph } from './ralph-on-path.ts';
import { PACKAGE } from '../package-name.ts';
import { reasonOf } from '../user-error.ts';

export interface AgentHere {
  readonly name: string;
  readonly path: string | null;
  /** Null if the agent prints none. */
  readonly version: string | null;
  readonly triedVersion: string;
  readonly install: string;
  /** The command line of a run. */
  readonly calledAs: string;
  /** Whether it reports cost or tokens. */
  readonly tells: Agent['reports'];
}

/** The names of the agents that Ralph knows, each with its program. */
export const KNOWN_AGENTS: readonly { readonly name: string; readonly program: string }[] = ALL_AGENTS.map(
  ({ name, call }) => ({ name, program: call?.command ?? '' }),
);

/** The supported agents, and which of them are installed. */
export async function agentsHere(
  cwd: string,
  env: Environment = startersEnvironment(process.env),
): Promise<readonly AgentHere[]> {
  return Promise.all(
    ALL_AGENTS.flatMap(({ name, call, reports }) => (call === null ? [] : [{ name, call, reports }])).map(
      async ({ name, call, reports }) => {
        const found = findCommand(call.command, env['PATH'] ?? '', cwd);
        const path = found.found === 'executable' ? found.path : null;
        return {
          name,
          path,
          version: path === null ? null : await versionOf(path, env, cwd),
          triedVersion: call.triedVersion,
          install: call.install,
          calledAs: [call.command, ...streamArgs(call)].join(' '),
          tells: reports,
        };
      },
    ),
  );
}

function streamArgs(call: AgentCall): readonly string[] {
  return call.args({ output: 'stream', flags: call.autonomous, prompt: null, folder: '<run>' });
}

/** The first version number in the output of `--version`. */
async function versionOf(path: string, env: Environment, cwd: string): Promise<string | null> {
  const answer = await exec([path, '--version'], { cwd, env, timeoutMs: TIMEOUT_MS });
  const text = answer?.stdout.toString('utf8').slice(0, MAX_VERSION_LENGTH) ?? '';
  return /\d+\.\d+[\w.-]*\w/.exec(text)?.[0] ?? null;
}

const MAX_VERSION_LENGTH = 1000;
/** The slowest agent takes two seconds. */
const TIMEOUT_MS = 10_000;

export interface Finding {
  readonly what: string;
  readonly state: 'ok' | 'warning' | 'bad';
  readonly detail: string;
  /** What to do about it. */
  readonly remedy: string | null;
}

/** What can be found, in the order of the findings; the longest name is known before the first of them. */
export const EXAMINED: readonly string[] = [
  'git',
  'workspace',
  'state folder',
  'sandbox',
  'ralph',
  ...ALL_AGENTS.flatMap(({ name, call }) => (call === null ? [] : [name])),
  'agents',
];

/** Runs every check that needs no account, and tells each finding as soon as it is there. */
export async function* examineMachine(cwd: string): AsyncGenerator<Finding, void, void> {
  const env = startersEnvironment(process.env);
  const agents = agentsHere(cwd, env);
  yield await examineGit(env, cwd);
  yield writable('workspace', cwd);
  yield writable('state folder', stateFolder());
  yield await examineSandbox(env, cwd);
  yield* examineName(cwd);
  const installed = (await agents).filter(({ path }) => path !== null);
  // All of them run at once, and are told in their order.
  const examined = installed.map((agent) => examineAgent(agent, env, cwd));
  for (const finding of examined) yield finding;
  if (installed.length > 0) return;
  yield {
    what: 'agents',
    state: 'bad',
    detail: 'no supported agent is installed',
    remedy: `install one, for example: ${(await agents)[0]?.install ?? ''}; or pass any command after --`,
  };
}

async function examineGit(env: Environment, cwd: string): Promise<Finding> {
  const answer = await exec(['git', '--version'], { cwd, env });
  const said = answer?.stdout.toString('utf8').trim().split('\n', 1)[0] ?? '';
  return answer?.code === 0
    ? { what: 'git', state: 'ok', detail: said, remedy: null }
    : {
        what: 'git',
        state: 'warning',
        detail: 'not found',
        remedy: 'install git; without it, ralph has no diffs, no checkpoints and cannot detect progress',
      };
}

/** A warning only: loops work without it. */
async function examineSandbox(env: Environment, cwd: string): Promise<Finding> {
  const probe = await probeSandbox(env, cwd);
  if (!probe.works) return { what: 'sandbox', state: 'warning', detail: probe.why, remedy: probe.remedy };
  const detail =
    probe.kind === 'bubblewrap'
      ? `${probe.program} works${probe.unshareUser ? ' in a user namespace' : ''}`
      : 'sandbox-exec is there; Ralph was not tested with it';
  return { what: 'sandbox', state: probe.kind === 'bubblewrap' ? 'ok' : 'warning', detail, remedy: null };
}

/** Another program of the name is no error: this one has a second name. */
function* examineName(cwd: string): Generator<Finding, void, void> {
  const other = otherRalph(process.env['PATH'] ?? '', cwd);
  if (other === null) return;
  const owner = other.owner === null ? 'another program' : `the package ${other.owner}`;
  yield {
    what: 'ralph',
    state: 'warning',
    detail: `${other.path} belongs to ${owner}, not to ${PACKAGE}`,
    remedy: 'type rud instead of ralph; docs/install.md says how to install it beside the other',
  };
}

function writable(what: string, folder: string): Finding {
  try {
    makeFolders(folder);
    accessSync(folder, constants.W_OK);
    return { what, state: 'ok', detail: folder, remedy: null };
  } catch (error) {
    return {
      what,
      state: 'bad',
      detail: `${folder}: ${reasonOf(error)}`,
      remedy: 'make it writable for this user',
    };
  }
}

/** Whether the agent starts, and whether its help lists the flags that ralph passes. */
async function examineAgent(agent: AgentHere, env: Environment, cwd: string): Promise<Finding> {
  const { name, path, version, triedVersion } = agent;
  const adapter = ALL_AGENTS.find((one) => one.name === name);
  const call = adapter?.call ?? null;
  if (call === null || path === null)
    return { what: name, state: 'bad', detail: 'not found', remedy: agent.install };
  if (version === null) {
    const remedy = `run it by hand (${call.command} --version), or reinstall it: ${agent.install}`;
    return { what: name, state: 'bad', detail: `${path} --version prints no version`, remedy };
  }
  const [first = ''] = streamArgs(call);
  const asks: [string, ...string[]] = first.startsWith('-') ? [path, '--help'] : [path, first, '--help'];
  const help = await exec(asks, { cwd, env, timeoutMs: TIMEOUT_MS });
  const text = `${help?.stdout.toString('utf8') ?? ''}${help?.stderr ?? ''}`;
  const missing = streamArgs(call).filter((word) => word.startsWith('--') && !text.includes(word));
  if (missing.length > 0) {
    const detail = `version ${version} does not support ${missing.join(', ')}`;
    const remedy = `ralph was tested with ${triedVersion}; install that version, or pass your own flags after --`;
    return { what: name, state: 'warning', detail, remedy };
  }
  const tried = version === triedVersion ? '' : ` (ralph was tested with ${triedVersion})`;
  const login = loginOf(call, env);
  const detail = `${version}${tried}, ${loginText(login)}`;
  return login.state === 'not logged in'
    ? { what: name, state: 'warning', detail, remedy: adapter?.remedies.authentication ?? null }
    : { what: name, state: 'ok', detail, remedy: null };
}

/** `logged in`, `login unknown`, `API key in ANTHROPIC_API_KEY`. */
export function loginText(login: Login): string {
  if (login.state === 'key') return `API key in ${login.variable}`;
  return login.state === 'unknown' ? 'login unknown' : login.state;
}

/** Whether an agent is logged in, as far as its files and the environment show it without a request. */
export function loginOf({ credentials, login }: AgentCall, env: Environment): Login {
  const variable = credentials.find((name) => (env[name] ?? '') !== '');
  if (variable !== undefined) return { state: 'key', variable };
  if (login === null) return { state: 'unknown' };
  const { folder, path, isOnlyPlace } = login;
  const named = folder.variable === null ? '' : (env[folder.variable] ?? '');
  const file = join(named === '' ? join(env['HOME'] ?? '', folder.below) : named, path);
  if (hasEntries(file)) return { state: 'logged in' };
  return { state: isOnlyPlace ? 'not logged in' : 'unknown' };
}

type Login =
  | { readonly state: 'logged in' | 'not logged in' | 'unknown' }
  /** An environment variable holds the credentials. */
  | { readonly state: 'key'; readonly variable: string };

/** Some agents leave an empty object behind when the user logs out. */
function hasEntries(file: string): boolean {
  try {
    const content: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return typeof content === 'object' && content !== null && Object.keys(content).length > 0;
  } catch {
    return false;
  }
}
