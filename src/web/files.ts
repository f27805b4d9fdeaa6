/** The files of the page, which are made with the package: all of them are read at the start, and no other is served. */
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { UserError } from '../user-error.ts';

export interface PageFile {
  readonly type: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

/** The files by the path of their address; that of the page itself is `/`. */
export function pageFiles(folder: string): ReadonlyMap<string, PageFile> {
  const read = (path: string): PageFile => ({
    type: TYPES[extname(path)] ?? 'text/plain; charset=utf-8',
    content: new Uint8Array(readFileSync(join(folder, path))),
  });
  try {
    const assets = readdirSync(join(folder, 'assets')).filter((name) => extname(name) in TYPES);
    return new Map([
      ['/', read('index.html')],
      ...assets.map((name): [string, PageFile] => [`/assets/${name}`, read(`assets/${name}`)]),
    ]);
  } catch (error) {
    throw new UserError(
      `the page is missing from this installation: ${folder}; install Ralph again, or in a checkout run: npm run build`,
      3,
      { cause: error },
    );
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
