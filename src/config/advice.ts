import type { Settings } from './config.ts';

/** Warnings about settings that the documents advise against. */
export function adviceOn({ maxIterations }: Settings): readonly string[] {
  if (maxIterations === undefined || maxIterations <= MANY) return [];
  return [
    `${maxIterations} iterations can cost a lot: 10 are enough for most tasks, ${MANY} for flaky ones; set --max-cost or --max-time as well`,
  ];
}

const MANY = 50;
