import { join } from 'node:path';
import { foundAt } from '../files/files.ts';
import type { LoopEvent } from '../loop/event.ts';
import { evolve } from '../loop/evolve.ts';
import { INITIAL } from '../loop/initial.ts';
import type { LoopState } from '../loop/state.ts';
import { readJournal } from '../journal/file.ts';
import { LoopFolder, loopsFolder } from '../home/home.ts';
import { savedEnvironment } from '../home/saved-environment.ts';
import { forgetUnsent, noteUnsent, isUnsent } from '../home/notice-secrets.ts';
import { ownMask } from '../home/mask.ts';
import { specIn } from '../home/read-loop.ts';
import { whySetAside } from '../home/trouble.ts';
import { forgetDeadCreations } from './dead-creations.ts';
import { LoopNotices } from './loop-notices.ts';

/** Sends the notices that the last owner of a loop could not send. `say` gets a line about what cannot be sent. */
export async function sendLeft(
  id: string,
  say: (line: string, loop: LoopFolder) => void,
  interrupt: AbortSignal,
): Promise<void> {
  const path = join(loopsFolder(), id);
  const found = specIn(path);
  if (found === null) return forgetUnsent(id);
  const folder = new LoopFolder(found, path);
  const size = sizeOf(folder);
  const { length, state } = lengthOf(folder);
  const env = savedEnvironment(id)?.env ?? {};
  const mask = ownMask({ spec: found, env });
  const loop = { spec: found, folder, env, mask: () => mask, say: (line: string) => say(line, folder) };
  const notices = new LoopNotices(loop, length, state);
  const aside = whySetAside(folder);
  if (aside !== null) notices.setAside(aside);
  await notices.sendAll(interrupt);
  // The loop had an owner meanwhile, perhaps for a moment only.
  if (sizeOf(folder) !== size) noteUnsent(id);
  // What is kept of a loop that has ended was kept for its notices.
  if (!isUnsent(id)) await forgetDeadCreations();
}

function sizeOf({ journal }: LoopFolder): number | undefined {
  return foundAt(journal)?.size;
}

function lengthOf({ journal }: LoopFolder): { readonly length: number; readonly state: LoopState } {
  let [length, state]: [number, LoopState] = [0, INITIAL];
  readJournal(journal, {
    take(event: LoopEvent) {
      length++;
      state = evolve(state, event);
    },
  });
  return { length, state };
}
