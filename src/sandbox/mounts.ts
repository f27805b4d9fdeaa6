/**
 * What the kernel will say about the mounts of a sandbox. Bubblewrap follows links at both ends of a mount, and an agent that runs meanwhile can
 * put one there after Ralph has looked; so the first process in the sandbox compares (`process/sandboxed.ts`).
 */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Place } from './sandbox.ts';

/** A part of the line of each place in `/proc/self/mountinfo`: what is mounted, and where. */
export function mountsOf(
  places: readonly Place[],
  { isFolder, emptyFile }: { readonly isFolder: (path: string) => boolean; readonly emptyFile: string },
): readonly string[] {
  const known = knownMounts();
  return places.map(({ path, is }) => {
    const isEmpty = is === 'private' || is === 'hidden';
    const root = isEmpty && isFolder(path) ? '/' : rootOf(is === 'hidden' ? emptyFile : path, known);
    return ` ${escaped(root)} ${escaped(path)} `;
  });
}

/** The path in its file system; nothing starts if it is gone. */
function rootOf(path: string, known: ReadonlyMap<string, Mount>): string {
  const { root, point } = known.get(mountAt(path) ?? '') ?? { root: '/', point: '/' };
  return join(root, relative(point, path));
}

/** The id of the mount that a path is on; null if the path is gone. */
function mountAt(path: string): string | null {
  let descriptor;
  try {
    descriptor = openSync(path, O_PATH);
  } catch {
    return null;
  }
  try {
    return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? null;
  } finally {
    closeSync(descriptor);
  }
}

/** Opens anything, whatever its permissions are, and reads nothing. */
const O_PATH = 0o10_000_000;

interface Mount {
  readonly root: string;
  readonly point: string;
}

function knownMounts(): ReadonlyMap<string, Mount> {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return new Map(
    lines.map((line) => {
      const [id = '', , , root = '', point = ''] = line.split(' ');
      return [id, { root: unescaped(root), point: unescaped(point) }];
    }),
  );
}

/** As the kernel writes paths. */
function escaped(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, '0')}`);
}

function unescaped(path: string): string {
  return path.replaceAll(/\\(\d{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
