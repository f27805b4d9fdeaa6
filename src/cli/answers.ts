/**
 * `ralph status` and `ralph ls` without the parser of the command line: shells and people call them often. They are a bundle of
 * their own, because a file that other commands share takes twice as long to load.
 */
import { moveOldLoops } from '../store/old-layout.ts';
import { explainError } from './errors.ts';
import { ls } from './ls.ts';
import { status } from './status.ts';
import { wakeDaemon } from './wake-daemon.ts';

/** Answers these arguments as the parser would. */
export async function answer([command, word]: readonly string[]): Promise<number> {
  try {
    await moveOldLoops();
    await wakeDaemon();
    return command === 'ls' ? ls({ all: word !== undefined }) : await status(word ?? null, {});
  } catch (error) {
    return explainError(error);
  }
}
