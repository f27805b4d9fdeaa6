import type { Settings } from './config.ts';

/** What the documents advise against, of all that was asked for. */
export function adviceOn({ maximumIterations }: Settings): readonly string[] {
  if (maximumIterations === undefined || maximumIterations <= MANY) return [];
  return [
    `${maximumIterations} iterations may cost a lot: 10 are enough for most tasks, ${MANY} for flaky ones; --max-cost and --max-time limit them, too`,
  ];
}

const MANY = 50;
