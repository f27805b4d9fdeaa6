import { readdirSync, readFileSync } from 'node:fs';
import { until } from './until.ts';

/** A running process that has the rig's marker in its environment. */
export interface Leftover {
  readonly pid: number;
  readonly command: string;
}

/** Running processes with a marker (`NAME=value`) in their environment, found without the product's code. */
export function leftovers(marker: string): readonly Leftover[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    const environment = read(`/proc/${name}/environ`);
    if (!`\0${environment}`.includes(`\0${marker}\0`) || isZombie(name)) return [];
    return [{ pid: Number(name), command: read(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim() }];
  });
}

/** Whether a process exists and is not a zombie. */
export function lives(pid: number): boolean {
  return read(`/proc/${pid}/stat`) !== '' && !isZombie(String(pid));
}

/** Kills every process with the marker. */
export async function endLeftovers(marker: string): Promise<void> {
  const seen = (): string =>
    leftovers(marker)
      .map(({ pid, command }) => `${pid} ${command}`)
      .join('\n');
  // The kernel notifies only the parent.
  const areGone = (): true | null => {
    const left = leftovers(marker);
    for (const { pid } of left) kill(pid);
    return left.length === 0 || null;
  };
  await until('the end of the processes that were left', areGone, { everyMs: 5, seen });
}

/** Kills a process, if it has not exited already. */
export function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has.
  }
}

function isZombie(pid: string): boolean {
  const stat = read(`/proc/${pid}/stat`);
  return /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
