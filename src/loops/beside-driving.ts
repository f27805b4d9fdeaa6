/** What the daemon does for its loops beside driving them: it answers their sandboxes, and shows their windows. */
import type { OwnedLoop } from '../owner/owner.ts';
import { reasonOf } from '../user-error.ts';
import { sandboxAnswers } from './sandbox-answers.ts';
import { closeUnseenWindow, showWindow } from './window.ts';

export const besideDriving = {
  /** The daemon owns the loop from now on. */
  onOwned(loop: OwnedLoop, log: (line: string) => void): void {
    loop.serveSandbox(sandboxAnswers);
    const shown = showWindow(loop).catch((error: unknown) => {
      log(`${loop.spec.name}: no tmux window: ${reasonOf(error)}`);
    });
    opening.set(loop, shown);
  },
  /** The loop has ended or is paused. A short one ends while its window is being opened. */
  async onRest(loop: OwnedLoop): Promise<void> {
    await opening.get(loop);
    await closeUnseenWindow(loop.spec).catch(() => {});
  },
};

const opening = new WeakMap<OwnedLoop, Promise<void>>();
