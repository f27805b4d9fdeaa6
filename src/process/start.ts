/** Starts a command behind a shim: the one that its loop keeps, or one of its own. */
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { openRegular } from '../files/files.ts';
import { runKept, type KeptRun } from './kept-shim.ts';
import { unknownBirth, type Birth, type ProcessTable, type SweptRun } from './process-table.ts';
import { startShim, umaskOf, type ShimSpec } from './shim.ts';
import { stopRun, type Stopped, type StoppableRun } from './stop.ts';

/** Starts it; throws if the shell cannot be started. */
export async function startCommand(spec: CommandSpec, table: ProcessTable): Promise<StartedCommand> {
  const kept = await startShared(spec);
  if (kept !== null) return new StartedCommand(kept.birth, kept.ended, () => kept.release(), kept);
  const shim = startShim(spec);
  // At once: a quick shim may be gone after the next `await`.
  const birth = table.birth(shim.pid) ?? unknownBirth(shim.pid);
  return new StartedCommand(birth, shim.ended, () => shim.release(), null);
}

export interface CommandSpec extends ShimSpec {
  /** The id of its loop, whose commands may share a shim; absent for a shim of its own. */
  readonly sharedBy?: string | undefined;
}

/** A command behind its shim. */
export class StartedCommand {
  readonly birth: Birth;
  /** Resolves to the exit code; null if the shim was killed. */
  readonly ended: Promise<number | null>;
  /** Lets this process exit before the command does. */
  readonly release: () => void;
  readonly #kept: KeptRun | null;

  constructor(birth: Birth, ended: Promise<number | null>, release: () => void, kept: KeptRun | null) {
    this.birth = birth;
    this.ended = ended;
    this.release = release;
    this.#kept = kept;
  }

  /** Whether its shim stays for another command. */
  get isKept(): boolean {
    return this.#kept !== null;
  }

  /** Ends what is left of it, and waits for its own end. */
  async stop(
    run: Omit<SweptRun, 'shim'> & Pick<StoppableRun, 'graceMs'>,
    table: ProcessTable,
  ): Promise<Stopped> {
    let isClean = false;
    try {
      const { after, hasEnded } = this.#kept ?? {};
      const stopped = await stopRun({ ...run, shim: this.birth, after, hasEnded }, table);
      await this.ended;
      isClean = stopped.ended.length + stopped.strays.length === 0;
      return stopped;
    } finally {
      this.#kept?.free(isClean);
    }
  }
}

async function startShared({
  sharedBy,
  folder,
  hasFiles = true,
  sandbox = null,
  argv,
  cwd,
  env,
  ...files
}: CommandSpec): Promise<KeptRun | null> {
  if (sharedBy === undefined || sandbox !== null) return null;
  const { RALPH_UMASK: _, ...rest } = env;
  const place = hasFiles ? folder : dirname(files.stdout);
  const descriptors = [
    files.stdin === null ? openSync('/dev/null', 'r') : openRegular(files.stdin, 'read'),
    openRegular(files.stdout, 'append'),
    openRegular(files.stderr, 'append'),
  ] as const;
  try {
    const command = {
      sharedBy,
      folder: place,
      hasFiles,
      argv,
      cwd,
      env: rest,
      umask: umaskOf(env),
      descriptors,
    };
    return await runKept(command);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}
