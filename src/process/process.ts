import { existsSync } from 'node:fs';
import { procfs } from './procfs.ts';
import { ps } from './ps.ts';
import type { ProcessTable } from './process-table.ts';

/** The process table of this machine. */
export const processes: ProcessTable = existsSync('/proc/self/stat') ? procfs : ps;

/** The variables that a program is started with. */
export type Environment = Readonly<Record<string, string>>;
