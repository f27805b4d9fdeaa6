import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * Returns the folder with a CLI's command, for the PATH. A missing package is installed once into a cache folder
 * (`$RALPH_AGENTS_CACHE`), never globally. Rejects with npm's own error.
 */
export async function install({ name, version, finish }: Package, timeoutMs = 300_000): Promise<string> {
  const cache = cacheFolder();
  const folder = join(cache, `${name.replaceAll(/\W+/g, '-').replace(/^-/, '')}-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // Renamed when it is complete, so that an interrupted or concurrent install leaves no partial folder.
    const attempt = mkdtempSync(join(cache, '.installing-'));
    try {
      await npmInstall(attempt, `${name}@${version}`, timeoutMs);
      if (finish !== null)
        await run(process.execPath, [join(attempt, 'node_modules', finish)], { cwd: attempt });
      publish(attempt, folder);
    } finally {
      rmSync(attempt, { recursive: true, force: true });
    }
  }
  return join(folder, 'node_modules', '.bin');
}

export interface Package {
  readonly name: string;
  readonly version: string;
  /** An install script that the package requires, relative to `node_modules`. */
  readonly finish: string | null;
}

const run = promisify(execFile);

function publish(attempt: string, folder: string): void {
  try {
    renameSync(attempt, folder);
  } catch (error) {
    // Another process has installed the same package meanwhile.
    if (!existsSync(folder)) throw error;
  }
}

async function npmInstall(folder: string, spec: string, timeoutMs: number): Promise<void> {
  const options = [
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--loglevel=error',
  ];
  // No package runs install scripts, except those that `finish` names.
  const args = ['install', '--prefix', folder, '--ignore-scripts', ...options, spec];
  await run('npm', args, { cwd: folder, timeout: timeoutMs });
}

/** In the project's `node_modules` by default, never in the home folder. */
function cacheFolder(): string {
  const given = process.env['RALPH_AGENTS_CACHE'];
  if (given !== undefined && given !== '') return given;
  return fileURLToPath(new URL('../../node_modules/.cache/agents', import.meta.url));
}
