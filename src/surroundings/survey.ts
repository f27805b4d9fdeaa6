/** Checks what loops need on this machine by running the programs, without calling a model. */
import { accessSync, constants } from 'node:fs';
import type { Agent, AgentCall } from '../agents/agent.ts';
import { ALL_AGENTS } from '../agents/all-agents.ts';
import { makeFolders } from '../files/make-folders.ts';
import { probeSandbox } from '../sandbox/probe.ts';
import { stateFolder } from '../store/state-folder.ts';
import { findCommand } from '../process/command.ts';
import { exec } from '../process/exec.ts';
import { loginOf, type Login } from './login.ts';
import { reasonOf } from '../user-error.ts';

export interface AgentSurvey {
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

type Environment = Readonly<Record<string, string>>;

/** The supported agents, and which of them are installed. */
export async function surveyAgents(env: Environment, cwd: string): Promise<readonly AgentSurvey[]> {
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

/** Runs every check that needs no account. */
export async function examineMachine(env: Environment, cwd: string): Promise<readonly Finding[]> {
  const agents = await surveyAgents(env, cwd);
  const installed = agents.filter(({ path }) => path !== null);
  return [
    await examineGit(env, cwd),
    writable('workspace', cwd),
    writable('state folder', stateFolder()),
    await examineSandbox(env, cwd),
    ...(await Promise.all(installed.map((agent) => examineAgent(agent, env, cwd)))),
    ...(installed.length > 0
      ? []
      : [
          {
            what: 'agents',
            state: 'bad',
            detail: 'no supported agent is installed',
            remedy: `install one, for example: ${agents[0]?.install ?? ''}; or pass any command after --`,
          } as const,
        ]),
  ];
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
async function examineAgent(agent: AgentSurvey, env: Environment, cwd: string): Promise<Finding> {
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

function loginText(login: Login): string {
  if (login.state === 'key') return `API key in ${login.variable}`;
  return login.state === 'unknown' ? 'login unknown' : login.state;
}
