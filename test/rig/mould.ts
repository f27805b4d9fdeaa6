import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A repository that many tests begin with. Git makes it once; the tests get copies, which costs no process. */
export class Mould {
  readonly #make: (folder: string) => void;
  #entries: readonly Entry[] | null = null;

  /** `make` fills an empty folder with a repository that has at most one file besides `.git`. */
  constructor(make: (folder: string) => void) {
    this.#make = make;
  }

  /** Copies the repository into an empty folder. */
  fill(folder: string): void {
    this.#entries ??= this.#cast();
    for (const { path, content, mode } of this.#entries) {
      const to = join(folder, path);
      if (content === null) mkdirSync(to);
      else writeFileSync(to, content);
      chmodSync(to, mode);
    }
    const file = this.#entries.find(({ path }) => !path.startsWith('.git'));
    if (file !== undefined) refreshIndex(join(folder, '.git/index'), join(folder, file.path));
  }

  #cast(): readonly Entry[] {
    const folder = mkdtempSync(join(tmpdir(), 'ralph-mould-'));
    try {
      this.#make(folder);
      return readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((path) => !path.endsWith('.sample'))
        .toSorted()
        .map((path) => {
          const stat = lstatSync(join(folder, path));
          const content = stat.isDirectory() ? null : readFileSync(join(folder, path));
          return { path, content, mode: stat.mode & 0o777 };
        });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }
}

interface Entry {
  readonly path: string;
  /** Null for a folder. */
  readonly content: Buffer | null;
  readonly mode: number;
}

/** Writes the times and the inode of the only file into the index, as `git update-index --refresh` does. */
function refreshIndex(index: string, file: string): void {
  const bytes = readFileSync(index);
  const { ctimeNs, mtimeNs, dev, ino } = statSync(file, { bigint: true });
  const fields = [ctimeNs / SECOND, ctimeNs % SECOND, mtimeNs / SECOND, mtimeNs % SECOND, dev, ino];
  for (const [at, value] of fields.entries()) {
    bytes.writeUInt32BE(Number(BigInt.asUintN(32, value)), HEADER_BYTES + 4 * at);
  }
  const end = bytes.length - HASH_BYTES;
  createHash('sha1').update(bytes.subarray(0, end)).digest().copy(bytes, end);
  writeFileSync(index, bytes);
}

const SECOND = 1_000_000_000n;
const HEADER_BYTES = 12;
const HASH_BYTES = 20;
