/**
 * The daemon as a service of the user: the service manager of the system starts it again after a reboot or a crash.
 *
 * 1. A definition that Ralph did not write is neither replaced nor removed.
 * 2. Installing and uninstalling can be repeated, also after one that failed half-way.
 * 3. Without a manager that answers, the file is still written or removed, and the caller gets the commands to type.
 */
import { existsSync, lstatSync, rmSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import { UnusableFile, makeFolders, readRegular } from '../files/files.ts';
import { fileURLToPath } from 'node:url';
import { endDaemon } from './daemon-process.ts';
import { replaceFile } from '../files/replace-file.ts';
import { findCommand } from '../process/command.ts';
import { exec, type Execution } from '../process/exec.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import { startersEnvironment } from '../home/run-environment.ts';
import { STATE, stateFolder } from '../home/state-folder.ts';
import { UserError } from '../user-error.ts';

export type Argv = readonly [string, ...string[]];

/** A service manager: where it keeps the definition of the daemon, and which commands it has. */
export interface Manager {
  /** Its name for people. */
  readonly title: string;
  /** What it starts. */
  readonly job: Job;
  readonly file: string;
  /** The content of the file, with the mark. */
  readonly text: string;
  /** A link that enabling makes; removed together with the file. */
  readonly link: string | null;
  /** Succeeds if the manager answers. */
  readonly isReachable: Argv;
  /** Succeeds if the manager knows the service. */
  readonly isKnown: Argv;
  readonly isRunning: Argv;
  /** Prints the path of the definition in effect; null if there can be only one. */
  readonly whichFile: Argv | null;
  /** The service under an earlier name, which would run a second daemon; null if it had none. */
  readonly former: { readonly file: string; readonly isKnown: Argv; readonly stop: Argv } | null;
  /** After the file was written. */
  readonly start: readonly Argv[];
  /** Before the file is removed or a service is started anew. */
  readonly stop: readonly Argv[];
  /** After the file was removed. */
  readonly forget: readonly Argv[];
  /** How a service runs without a login; null if it cannot. */
  readonly lingering: { readonly ask: Argv; readonly enable: Argv } | null;
}

/** What the service manager of the system starts: the daemon, with this program and for this state folder. */
export interface Job {
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

/**
 * The daemon as the calling command would start it. Agents get the environment that is kept for their loop; the daemon itself
 * needs only the programs that it uses (flock, git, tmux) and the place of the state.
 */
export function daemonJob(env: NodeJS.ProcessEnv): Job {
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder));
  const stateHome = env['XDG_STATE_HOME'] ?? '';
  const zone = env['TZ'] ?? '';
  return {
    argv: [process.execPath, MAIN, 'daemon', 'run', '--stay'],
    env: {
      PATH: [...new Set(folders)].join(':'),
      ...((env[STATE] ?? '') === '' ? {} : { [STATE]: stateFolder(env) }),
      ...(isAbsolute(stateHome) ? { XDG_STATE_HOME: stateHome } : {}),
      // For the times in its log.
      ...(zone === '' ? {} : { TZ: zone }),
    },
  };
}

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));

/** Begins every definition that Ralph writes. */
export const MARK = 'Written by: ralph service install';

export interface Change {
  /** What happened to the file. */
  readonly file: 'created' | 'replaced' | 'unchanged' | 'removed' | 'missing';
  /** Commands that the user has to type, because the manager does not answer. */
  readonly toType: readonly string[];
}

/** Writes the definition and starts the service; one that runs is restarted, so that it uses the installed program. */
export async function install(manager: Manager, env: NodeJS.ProcessEnv): Promise<Change> {
  refuseWithoutManager(manager, env);
  const found = definition(manager);
  if (found === null) await refuseShadowing(manager, env);
  const isReachable = await succeeds(manager.isReachable, env);
  await removeFormer(manager, env, isReachable);
  if (isReachable && (await succeeds(manager.isKnown, env))) await runAll(manager.stop, env);
  // A daemon that a command has started leaves its loops to the service's.
  if (isReachable) await endDaemon(false);
  const file = found === null ? 'created' : found === manager.text ? 'unchanged' : 'replaced';
  makeFolders(dirname(manager.file));
  if (file !== 'unchanged') replaceFile(manager.file, manager.text, { mode: 0o644, flush: true });
  if (isReachable) await runAll(manager.start, env);
  return { file, toType: isReachable ? [] : manager.start.map(typed) };
}

/** Stops the service and removes its definition. */
export async function uninstall(manager: Manager, env: NodeJS.ProcessEnv): Promise<Change> {
  const isReachable = await succeeds(manager.isReachable, env);
  const hadFormer = await removeFormer(manager, env, isReachable);
  if (definition(manager) === null) return { file: hadFormer ? 'removed' : 'missing', toType: [] };
  if (isReachable && (await succeeds(manager.isKnown, env))) await runAll(manager.stop, env);
  rmSync(manager.file, { force: true });
  if (manager.link !== null && isLink(manager.link)) rmSync(manager.link, { force: true });
  if (isReachable) await runAll(manager.forget, env);
  return { file: 'removed', toType: isReachable ? [] : manager.forget.map(typed) };
}

export interface Condition {
  readonly isInstalled: boolean;
  /** Whether installing again would write the same. */
  readonly isCurrent: boolean;
  /** Null if the manager does not answer. */
  readonly isRunning: boolean | null;
}

/** Looks at the service and changes nothing. */
export async function inspect(manager: Manager, env: NodeJS.ProcessEnv): Promise<Condition> {
  const found = definition(manager);
  const isReachable = found !== null && (await succeeds(manager.isReachable, env));
  return {
    isInstalled: found !== null,
    isCurrent: found === manager.text,
    isRunning: isReachable ? await succeeds(manager.isRunning, env) : null,
  };
}

/** The command that makes the service start at boot instead of at login; null if it does already or never can. */
export async function enableLingering(manager: Manager, env: NodeJS.ProcessEnv): Promise<string | null> {
  const { lingering } = manager;
  if (lingering === null) return null;
  const answer = await run(lingering.ask, env);
  return answer?.stdout.toString('utf8').trim() === 'yes' ? null : typed(lingering.enable);
}

/** Removes the service of an earlier name, if Ralph wrote it; returns whether there was one. */
async function removeFormer(
  { former, title }: Manager,
  env: NodeJS.ProcessEnv,
  isReachable: boolean,
): Promise<boolean> {
  if (former === null || definition({ file: former.file, title }) === null) return false;
  if (isReachable && (await succeeds(former.isKnown, env))) await runAll([former.stop], env);
  rmSync(former.file, { force: true });
  return true;
}

/** The text of the definition; null if there is none. */
function definition({ file, title }: Pick<Manager, 'file' | 'title'>): string | null {
  const why = `${file} exists and was not written by Ralph; it stays as it is. Rename or remove it first`;
  try {
    const text = readRegular(file)?.toString('utf8') ?? null;
    if (text !== null && !text.slice(0, MAX_HEAD).includes(MARK)) throw new UserError(why);
    return text;
  } catch (error) {
    if (error instanceof UnusableFile) throw new UserError(`${why} (it is not a plain file of ${title})`);
    throw error;
  }
}

const MAX_HEAD = 400;

/** Refuses to put a definition before one of the same name in another folder, which the system or another program uses. */
async function refuseShadowing({ whichFile, file }: Manager, env: NodeJS.ProcessEnv): Promise<void> {
  const answer = whichFile === null ? null : await run(whichFile, env);
  const path = answer?.code === 0 ? answer.stdout.toString('utf8').trim() : '';
  if (path !== '' && existsSync(path))
    throw new UserError(
      `${path} exists and was not written by Ralph; ${file} would replace it. Remove it first`,
    );
}

function refuseWithoutManager({ title, start, job }: Manager, env: NodeJS.ProcessEnv): void {
  const program = start[0]?.[0] ?? '';
  if (findCommand(program, env['PATH'] ?? '', '/').found === 'executable') return;
  throw new UserError(
    `cannot install a service: ${program} was not found, so this system has no ${title}\n` +
      `Let another program start the daemon at boot, for example cron with the line: @reboot ${typed(job.argv)}`,
  );
}

async function runAll(commands: readonly Argv[], env: NodeJS.ProcessEnv): Promise<void> {
  for (const argv of commands) {
    // oxlint-disable-next-line no-await-in-loop -- each needs the one before
    const answer = await run(argv, env);
    if (answer?.code !== 0)
      throw new UserError(`${typed(argv)} failed: ${answer?.stderr.trim() || 'no reason given'}`, 3);
  }
}

async function succeeds(argv: Argv, env: NodeJS.ProcessEnv): Promise<boolean> {
  return (await run(argv, env))?.code === 0;
}

function run(argv: Argv, env: NodeJS.ProcessEnv): Promise<Execution | null> {
  return exec(argv, { cwd: '/', env: startersEnvironment(env), timeoutMs: TIMEOUT_MS });
}

/** systemd gives a service 90 s to stop. */
const TIMEOUT_MS = 120_000;

function typed(argv: Argv): string {
  return argv.map(shellQuote).join(' ');
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
