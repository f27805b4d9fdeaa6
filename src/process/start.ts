/** Starts a command behind a shim: the one that its loop keeps, or one of its own. */
import { dirname } from 'node:path';
import { runKept, type KeptRun } from './kept-shim.ts';
import { unknownBirth, type Birth, type ProcessTable, type SweptRun } from './process-table.ts';
import { closeFiles, openFiles, startShim, umaskOf, type Shim, type ShimSpec } from './shim.ts';
import { stopRun, type Stopped, type StoppableRun } from './stop.ts';

/** Starts it; throws if the shell cannot be started. */
export async function startCommand(spec: CommandSpec, table: ProcessTable): Promise<StartedCommand> {
  const kept = await startShared(spec);
  if (kept !== null) return new StartedCommand(kept.birth, kept, kept);
  const shim = startShim(spec);
  // At once: a quick shim may be gone after the next `await`.
  const birth = table.birth(shim.pid) ?? unknownBirth(shim.pid);
  return new StartedCommand(birth, shim, null);
}

export interface CommandSpec extends ShimSpec {
  /** The id of its loop, whose commands may share a shim; absent for a shim of its own. */
  readonly sharedBy?: string | undefined;
}

/** A command behind its shim. */
export class StartedCommand {
  readonly birth: Birth;
  readonly #run: Pick<Shim, 'ended' | 'release'>;
  /** Null for a shim of its own. */
  readonly #kept: KeptRun | null;

  constructor(birth: Birth, run: Pick<Shim, 'ended' | 'release'>, kept: KeptRun | null) {
    this.birth = birth;
    this.#run = run;
    this.#kept = kept;
  }

  /** Resolves to the exit code; null if the shim was killed. */
  get ended(): Promise<number | null> {
    return this.#run.ended;
  }

  /** Whether its shim stays for another command. */
  get isKept(): boolean {
    return this.#kept !== null;
  }

  /** Lets this process exit before the command does. */
  release(): void {
    this.#run.release();
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

/** Null if it needs a shim of its own. */
async function startShared(spec: CommandSpec): Promise<KeptRun | null> {
  const { sharedBy, hasFiles = true, sandbox = null, argv, cwd } = spec;
  if (sharedBy === undefined || sandbox !== null) return null;
  const { RALPH_UMASK: _, ...env } = spec.env;
  const folder = hasFiles ? spec.folder : dirname(spec.stdout);
  const umask = umaskOf(spec.env);
  const descriptors = openFiles(spec);
  try {
    return await runKept({ sharedBy, folder, hasFiles, argv, cwd, env, umask, descriptors });
  } finally {
    closeFiles(descriptors);
  }
}
