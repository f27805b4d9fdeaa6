import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Puts the folders of the tests into memory where that is possible: most of them make repositories and journals, and a third of their
 * CPU was the disk's.
 */
export function setup(): () => void {
  const folder = inMemory();
  if (folder === null) return () => {};
  process.env['RALPH_TEST_DISK'] = tmpdir();
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** The system's folder for temporary files: what a sandbox shows of the machine depends on the place. */
export function onDisk(): string {
  return process.env['RALPH_TEST_DISK'] ?? tmpdir();
}

/** A new folder in memory; null if there is none, too little of it, or no program can be started there. */
function inMemory(): string | null {
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY);
    if (Math.min(bavail * bsize, freemem()) < ENOUGH_BYTES) return null;
    removeForgotten();
    // A short name: sockets are made below it.
    const folder = mkdtempSync(join(SHARED_MEMORY, PREFIX));
    const program = join(folder, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    execFileSync(program);
    // Some tests start programs as another user.
    chmodSync(folder, 0o755);
    return folder;
  } catch {
    return null;
  }
}

/** A run of the tests that was killed leaves its folder, and with it memory. */
function removeForgotten(): void {
  for (const name of readdirSync(SHARED_MEMORY).filter((other) => other.startsWith(PREFIX))) {
    const path = join(SHARED_MEMORY, name);
    const { uid, mtimeMs } = lstatSync(path);
    if (uid === process.getuid?.() && Date.now() - mtimeMs > DAY_MS)
      rmSync(path, { recursive: true, force: true });
  }
}

const DAY_MS = 86_400_000;
const PREFIX = 'ralph-';
const SHARED_MEMORY = '/dev/shm';
/** The largest output of an agent in a test has 500 MB. */
const ENOUGH_BYTES = 4 * 1024 ** 3;
