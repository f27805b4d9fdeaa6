/** A temporary workspace, home and state folder for library tests; the library uses the environment of its process. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

/** The workspace of the current test. */
export function openLibraryFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-library-')));
  for (const [name, path] of [
    ['HOME', 'home'],
    ['XDG_STATE_HOME', 'state'],
  ] as const) {
    mkdirSync(join(folder, path));
    vi.stubEnv(name, join(folder, path));
  }
  onTestFinished(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
  const workspace = join(folder, 'project', 'task');
  mkdirSync(workspace, { recursive: true });
  return workspace;
}
