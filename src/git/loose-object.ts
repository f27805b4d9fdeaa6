/** Objects that have a file of their own, as git writes new ones. */
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { gitPath, utf8, type Repository } from './git.ts';
import { writeNew } from './write-new.ts';

/** The folder of a repository's objects. */
export async function objectsFolder(repository: Repository): Promise<string> {
  return utf8(await gitPath(repository, ['--git-path', 'objects']));
}

/** Whether an object has a file of its own; false does not mean that it is missing. */
export function isLoose(objects: string, id: string): boolean {
  return existsSync(looseFile(objects, id));
}

/** Writes an object under another name and moves it: an interrupt leaves only a file that git's maintenance removes. */
export function writeLoose(objects: string, { id, content }: GitObject): void {
  const path = looseFile(objects, id);
  if (existsSync(path)) {
    // As git does: its maintenance removes objects that were not needed for a long time.
    const now = new Date();
    utimesSync(path, now, now);
    return;
  }
  const folder = dirname(path);
  if (!existsSync(folder)) mkdirSync(folder, { recursive: true });
  const temporary = join(folder, `tmp_obj_${randomUUID()}`);
  writeNew(temporary, deflateSync(content, { level: 1 }), 0o444);
  renameSync(temporary, path);
}

/** An object with its header, as its id is made from. */
export interface GitObject {
  readonly id: string;
  readonly content: Buffer;
}

export function gitObject(kind: 'commit' | 'tree', body: Buffer, algorithm: 'sha1' | 'sha256'): GitObject {
  const content = Buffer.concat([Buffer.from(`${kind} ${body.length}\0`), body]);
  return { id: createHash(algorithm).update(content).digest('hex'), content };
}

/** The file of an object that has one of its own. */
export function looseFile(objects: string, id: string): string {
  return join(objects, id.slice(0, 2), id.slice(2));
}
