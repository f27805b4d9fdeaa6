import { expect } from 'vitest';
import type { Stage } from './stage.ts';

/** The settings in effect, by their full name, as `ralph config` prints them. */
export async function configOf(stage: Stage, ...args: readonly string[]): Promise<Record<string, Setting>> {
  const { stdout, stderr } = await stage.ralph('config', '--json', ...args).ended;
  expect(stderr).toBe('');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own answer
  return JSON.parse(stdout) as Record<string, Setting>;
}

interface Setting {
  readonly value: unknown;
  readonly origin: string;
  readonly place: string | null;
}
