import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/**
 * The folder with a CLI's command, for the PATH. What is missing is fetched from the registry, once, into a cache folder
 * (`$RALPH_AGENTS_CACHE`); nothing is installed for the machine. Rejects with npm's own words.
 */
export async function install({ name, version, finish }: Package, timeoutMs = 300_000): Promise<string> {
  const cache = cacheFolder();
  const folder = join(cache, `${name.replaceAll(/\W+/g, '-').replace(/^-/, '')}-${version}`);
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true });
    // It gets its name once it is complete: whoever is interrupted, or installs the same meanwhile, leaves no half.
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
  /** The one install script that it cannot do without, below `node_modules`. */
  readonly finish: string | null;
}

const run = promisify(execFile);

function publish(attempt: string, folder: string): void {
  try {
    renameSync(attempt, folder);
  } catch (error) {
    // Another was quicker, with the same.
    if (!existsSync(folder)) throw error;
  }
}

async function npmInstall(folder: string, what: string, timeoutMs: number): Promise<void> {
  const quick = [
    '--no-audit',
    '--no-fund',
    '--fetch-retries=1',
    '--fetch-retry-mintimeout=1000',
    '--loglevel=error',
  ];
  // No package runs anything of its own here; those that must are named one by one.
  const args = ['install', '--prefix', folder, '--ignore-scripts', ...quick, what];
  await run('npm', args, { cwd: folder, timeout: timeoutMs });
}

/** Beside the project's own packages: nobody's home is touched. */
function cacheFolder(): string {
  const given = process.env['RALPH_AGENTS_CACHE'];
  if (given !== undefined && given !== '') return given;
  return fileURLToPath(new URL('../../node_modules/.cache/agents', import.meta.url));
}
