import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

/** A temporary workspace with its own state folder, for the loops inside a session of the current test. */
export function openSessionPlace(): SessionPlace {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-session-')));
  const workspace = join(root, 'work');
  mkdirSync(workspace);
  vi.stubEnv('RALPH_STATE', join(root, 'state'));
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(root, { recursive: true, force: true });
  });
  return { root, workspace };
}

export interface SessionPlace {
  /** The state is in its folder `state`. */
  readonly root: string;
  readonly workspace: string;
}
