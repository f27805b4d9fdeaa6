import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { kill, leftovers, lives } from './leftovers.ts';
import { until } from './until.ts';

/** The daemon of a state folder, found without the product's code. */
export class RiggedDaemon {
  readonly #folder: string;

  /** `state` is the folder that has `background` and `daemon`. */
  constructor(state: string) {
    this.#folder = state;
  }

  /** The process that has its lock; null if none runs. */
  get pid(): number | null {
    const [, pid] = /"pid":(\d+)/.exec(this.#text('daemon', 'lock')) ?? [];
    return pid !== undefined && lives(Number(pid)) ? Number(pid) : null;
  }

  get log(): string {
    return this.#text('daemon', 'daemon.log');
  }

  /** The ids of the loops that it should own. The entry of a loop that it has refused says why. */
  get enlisted(): readonly string[] {
    const folder = join(this.#folder, 'background');
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith('.')) : [];
    return names.filter((name) => this.#text('background', name) === '');
  }

  /** Waits for a daemon, other than this one, and returns its pid. */
  runs(other: number | null = null): Promise<number> {
    return until('a daemon', () => (this.pid === other ? null : this.pid), { seen: () => this.log });
  }

  /** Waits until none runs. */
  ends(): Promise<true> {
    return until('the end of the daemon', () => (this.pid === null ? true : null), { seen: () => this.log });
  }

  /** Kills it; its loops stay as they are. */
  async crashes(): Promise<void> {
    const pid = await this.runs();
    process.kill(pid, 'SIGKILL');
    await until('its death', () => (lives(pid) ? null : true));
  }

  /** Kills it, and any other that was just started; returns how many loops it had. */
  async tearDown(): Promise<number> {
    if (!existsSync(join(this.#folder, 'daemon'))) return 0;
    // The daemon takes an entry away just after the journal says that the loop has ended.
    for (let looks = 0; this.enlisted.length > 0 && looks < 40; looks++) {
      // oxlint-disable-next-line no-await-in-loop -- a test that leaves a loop fails anyway
      await sleep(50);
    }
    const count = this.enlisted.length;
    for (const { pid, command } of leftovers(`XDG_STATE_HOME=${dirname(this.#folder)}`)) {
      if (!command.includes('daemon run')) continue;
      kill(pid);
      // oxlint-disable-next-line no-await-in-loop -- there is one, or one that waits for the lock
      await until('the end of the daemon', () => (lives(pid) ? null : true), { seen: () => this.log });
    }
    return count;
  }

  #text(...path: readonly string[]): string {
    const file = join(this.#folder, ...path);
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }
}
