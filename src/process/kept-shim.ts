/**
 * A shim that stays for the next command of its loop. A fork from Node.js blocks the process for milliseconds, because it is large; a
 * fork from this shell takes a fraction of one.
 *
 * 1. It does for each command what a shim of its own does (`shim.ts`): it creates the same files, leads the process group, and
 *    continues when its owner dies. A dead owner closes the shim's stdin, so the shim exits after the command.
 * 2. It opens input and output through the descriptors of its owner, so these are the files that the owner has checked. If the owner is
 *    dead, it starts nothing.
 * 3. Only commands of one loop share it, one at a time. A command starts only after every process of the previous one has ended, because a
 *    sweep ends the whole process group.
 * 4. While it runs a command, its working directory is the folder of that command. A process below it and a later owner find the run there.
 * 5. Words and variables are data: everything is in single quotes.
 * 6. It reports when it has opened the files and created `started`. Before that report the command has not started: if it fails or dies, the
 *    command gets a shim of its own.
 * 7. It exits after a second without a command, and when a command has left a process running or has changed the shim's priority.
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { accessSync, constants, readlinkSync, statSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { birthFrom, lastPid, readStat, uptimeInTicks } from './proc-files.ts';
import { SHIM_NAME, type Birth, type Start } from './process-table.ts';
import { isPassedOn, ShellEnvironment } from './shell-environment.ts';
import { inQuotes } from './shell-quote.ts';
import type { Descriptors } from './shim.ts';

/** Runs a command behind the shim of its loop; resolves when it has begun, or to null if it cannot be run there. */
export async function runKept(command: KeptCommand): Promise<KeptRun | null> {
  if (!isFit(command)) return null;
  const shim = shims.get(command.sharedBy) ?? keepShim(command);
  return (await shim?.run(command)) ?? null;
}

export interface KeptCommand {
  /** What the commands have in common that share a shim: the id of their loop. */
  readonly sharedBy: string;
  /** An existing folder, for the files of the shim, if it has any. */
  readonly folder: string;
  readonly hasFiles: boolean;
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** In octal. */
  readonly umask: string;
  /** Open in this process. They may be closed when it has begun. */
  readonly descriptors: Descriptors;
}

export interface KeptRun {
  readonly birth: Birth;
  /** Before the command. */
  readonly after: Start;
  /** Resolves to the exit code; null if the shim was killed. */
  readonly ended: Promise<number | null>;
  readonly hasEnded: () => boolean;
  /** Lets this process exit before the command does. */
  release(): void;
  /** When everything that the command started has ended; `isClean` if nothing had to be ended. */
  free(isClean: boolean): void;
}

const shims = new Map<string, KeptShim>();
/** A process that owns many loops gains nothing from an idle shell for each. */
const MAX_SHIMS = 16;

function keepShim({ sharedBy, folder }: KeptCommand): KeptShim | null {
  if (shims.size >= MAX_SHIMS || !canOpenDescriptors()) return null;
  try {
    const shim = new KeptShim(sharedBy, folder);
    shims.set(sharedBy, shim);
    return shim;
  } catch {
    return null;
  }
}

/** Whether a child of this process can open its descriptors: on Linux, unless the kernel protects this process. */
function canOpenDescriptors(): boolean {
  areDescriptorsOpen ??=
    process.platform === 'linux' &&
    statSync('/proc/self/fd', { throwIfNoEntry: false })?.uid === process.geteuid?.() &&
    // Not where `/proc` is that of another PID namespace.
    readlinkSync('/proc/self') === String(process.pid);
  return areDescriptorsOpen;
}
let areDescriptorsOpen: boolean | null = null;

/** Whether the shell passes everything on unchanged. A command that is very long fails in a clearer way without it. */
function isFit({ argv, cwd, env, folder }: KeptCommand): boolean {
  const words = [cwd, folder, ...argv];
  const length = [...words, ...Object.values(env)].reduce((sum, text) => sum + text.length, 0);
  return length < MAX_LENGTH && isPassedOn(words, env) && canEnter(cwd);
}

/** Some shells read their commands byte by byte. */
const MAX_LENGTH = 32_000;

function canEnter(folder: string): boolean {
  try {
    accessSync(`${folder}/.`, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** As in `shim.ts`; the shell's own messages are discarded. Descriptors: 3 is the program's stdin, 4 its stdout, 5 its stderr. */
const SET_UP = `
trap : HUP INT QUIT TERM
umask 077
ralph_begin() {
  cd "$1" && command exec 3<"$2" 4>>"$3" 5>>"$4" || { echo none; return 1; }
  if [ "$5" = files ]; then
    set -C
    { echo $$ >started; } || { set +C; exec 3<&- 4>&- 5>&-; echo none; return 1; }
    set +C
  fi
  echo begun
}
ralph_end() {
  exec 3<&- 4>&- 5>&-
  [ "$2" != files ] || echo $1 >"$3/exit"
  cd /
  echo $1
}
`;

class KeptShim {
  readonly #name: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #birth: Birth;
  readonly #nice: string;
  readonly #environment = new ShellEnvironment(MAX_CHANGES);
  #isFree = true;
  #isGone = false;
  #answer = '';
  /** Gets the next line that the shell prints; null when the shell is gone. */
  #take: ((line: string | null) => void) | null = null;
  readonly #idle: NodeJS.Timeout;

  constructor(name: string, folder: string) {
    this.#name = name;
    // Nothing of the environment: a search for the processes of a run finds those that the shim has started.
    const child = spawn('/bin/sh', ['-s', SHIM_NAME, name], {
      cwd: folder,
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    });
    this.#child = child;
    child.once('error', () => this.#end());
    const stat = child.pid === undefined ? null : readStat(child.pid);
    if (child.pid === undefined || stat === null) throw new Error('cannot start /bin/sh');
    this.#birth = birthFrom(child.pid, stat);
    this.#nice = stat.nice;
    // After the last line that it has printed.
    child.once('close', () => this.#end());
    child.stdin.on('error', () => {});
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    child.stdin.write(SET_UP);
    this.#hold(false);
    asSocket(child.stdin).unref();
    this.#idle = setTimeout(() => {
      if (this.#isFree) this.#retire();
    }, IDLE_MS).unref();
  }

  async run(command: KeptCommand): Promise<KeptRun | null> {
    if (!this.#isFree) return null;
    this.#isFree = false;
    this.#hold(true);
    const after = { pid: lastPid(), startTime: this.#now() };
    const begun = this.#nextLine();
    const stuck = setTimeout(() => this.#kill(), STUCK_MS);
    this.#child.stdin.write(this.#textFor(command));
    const answer = await begun;
    clearTimeout(stuck);
    if (answer !== 'begun') {
      this.#hold(false);
      this.#retire();
      return null;
    }
    let hasEnded = false;
    const ended = this.#nextLine().then((line) => {
      hasEnded = true;
      this.#hold(false);
      return line === null ? null : Number(line);
    });
    let isFreed = false;
    return {
      birth: this.#birth,
      after,
      ended,
      hasEnded: () => hasEnded,
      release: () => {
        this.#hold(false);
        this.#retire();
      },
      free: (isClean) => {
        if (isFreed) return;
        isFreed = true;
        this.#free(isClean && hasEnded);
      },
    };
  }

  /** Keeps this process alive, or lets it exit before the shim does. */
  #hold(isBusy: boolean): void {
    const output = asSocket(this.#child.stdout);
    if (isBusy) {
      this.#child.ref();
      output.ref();
    } else {
      this.#child.unref();
      output.unref();
    }
  }

  /** Not before the shim: in some containers the uptime is not that of the start times. */
  #now(): string {
    return String(Math.max(Number(this.#birth.startTime), Number(uptimeInTicks())));
  }

  /** One command of the shell. If a part is missing because the owner has died, its descriptors are gone too, and nothing starts. */
  #textFor({ folder, hasFiles, argv, cwd, env, umask, descriptors }: KeptCommand): string {
    const files = descriptors.map((descriptor) => `/proc/${process.pid}/fd/${descriptor}`).join(' ');
    const kind = hasFiles ? 'files' : 'none';
    const variables = this.#environment.commandsFor(env);
    const place = `cd ${inQuotes(cwd)} || exit 126; ${placeVariables(env, cwd)}`;
    const program = `exec ${argv.map(inQuotes).join(' ')} <&3 >&4 2>&5 3<&- 4>&- 5>&-`;
    return `${variables.lasting}ralph_begin ${inQuotes(folder)} ${files} ${kind} && {
(umask ${umask}; ${variables.own}${place}${program})
ralph_end $? ${kind} ${inQuotes(folder)}; }
`;
  }

  #nextLine(): Promise<string | null> {
    return new Promise((resolve) => {
      this.#take = resolve;
      this.#answers();
    });
  }

  #read(chunk: Buffer): void {
    this.#answer += chunk.toString('latin1');
    this.#answers();
  }

  #answers(): void {
    const at = this.#answer.indexOf('\n');
    if (at < 0 && !this.#isGone) return;
    const take = this.#take;
    if (take === null) return;
    this.#take = null;
    const line = at < 0 ? null : this.#answer.slice(0, at);
    this.#answer = this.#answer.slice(at + 1);
    take(line);
  }

  #free(isClean: boolean): void {
    const stat = readStat(this.#birth.pid);
    // One that was stopped would neither begin nor exit.
    if (stat?.state === 'T') this.#kill();
    // What a command has done to its parent must not reach the next one.
    else if (isClean && stat?.nice === this.#nice && shims.get(this.#name) === this) {
      this.#isFree = true;
      this.#idle.refresh();
      return;
    }
    this.#retire();
  }

  /** It exits when it has nothing left to read, after what it runs now. */
  #retire(): void {
    this.#forget();
    this.#child.stdin.end();
  }

  /** For one that was stopped. It must not begin later. */
  #kill(): void {
    this.#child.kill('SIGKILL');
  }

  #end(): void {
    this.#isGone = true;
    this.#forget();
    this.#answers();
  }

  #forget(): void {
    clearTimeout(this.#idle);
    if (shims.get(this.#name) === this) shims.delete(this.#name);
  }
}

const IDLE_MS = 1000;
/** Much longer than a busy machine needs. */
const STUCK_MS = 10_000;
const MAX_CHANGES = 30;

/**
 * The variables in which a shell notes its working directory. One that starts in a folder keeps the name that PWD has for it, if it
 * is one, and has no OLDPWD of its own.
 */
function placeVariables({ PWD, OLDPWD }: KeptCommand['env'], cwd: string): string {
  const old = OLDPWD === undefined ? 'unset OLDPWD; ' : `OLDPWD=${inQuotes(OLDPWD)}; `;
  if (PWD === undefined || PWD === cwd || !PWD.startsWith('/')) return old;
  return `${old}if [ ${inQuotes(PWD)} -ef . ]; then PWD=${inQuotes(PWD)}; fi; `;
}

/** Node.js connects a process by sockets, but does not say so in their types. */
function asSocket(stream: Readable | Writable): Socket {
  if (!(stream instanceof process.getBuiltinModule('node:net').Socket)) throw new TypeError('not a socket');
  return stream;
}
