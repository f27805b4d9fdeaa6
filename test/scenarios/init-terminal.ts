/** `ralph init` in a real terminal. */
import type { Terminal, Terminals } from '../rig/cli/terminal.ts';
import type { Stage } from './stage.ts';

export const MAIN: string = new URL('../../dist/cli/main.js', import.meta.url).pathname;

/** Starts init with an empty PATH, so that it cannot suggest agents that are installed on this machine. */
export function openInit(
  terminals: Terminals,
  stage: Stage,
  env: Readonly<Record<string, string>> = {},
  ...args: readonly string[]
): Terminal {
  return terminals.open([process.execPath, MAIN, 'init', ...args], {
    cwd: stage.workspace,
    env: { ...stage.env, PATH: '/nowhere', ...env },
  });
}

/** Answers each question when it appears. */
export async function answer(
  terminal: Terminal,
  answers: readonly (readonly [string, string])[],
): Promise<void> {
  const asked = new Map<string, number>();
  for (const [question, words] of answers) {
    const time = (asked.get(question) ?? 0) + 1;
    asked.set(question, time);
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    await terminal.shows(question, time);
    terminal.types(`${words}\r`);
  }
}
