import { closeSync, fstatSync, ftruncateSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { foundAt, openRegular, textOf } from '../files/files.ts';
import { inWorkspaceFolder } from '../workspace/workspace-folder.ts';
import type { WorkspaceFolder } from '../home/home.ts';
import { reasonOf } from '../user-error.ts';

/** A file in the workspace folder that is only appended to, whole texts at a time. A text that could not be written is offered again later. */
export class GrowingFile {
  readonly #workspaceFolder: WorkspaceFolder;
  readonly #path: string;
  readonly #warn: (line: string) => void;
  #hasWarned = false;

  constructor(workspaceFolder: WorkspaceFolder, path: string, warn: (line: string) => void) {
    this.#workspaceFolder = workspaceFolder;
    this.#path = path;
    this.#warn = warn;
  }

  get size(): number {
    return foundAt(this.#path)?.size ?? 0;
  }

  /** Its text; empty if there is no such file. */
  read(): string {
    return textOf(this.#path) ?? '';
  }

  /** Appends all of a text or nothing; whether it did. */
  append(text: string): boolean {
    if (text === '') return true;
    try {
      this.#open((descriptor) => {
        const { size } = fstatSync(descriptor);
        try {
          writeFileSync(descriptor, text);
        } catch (error) {
          ftruncateSync(descriptor, size);
          throw error;
        }
      });
      this.#hasWarned = false;
      return true;
    } catch (error) {
      this.warn(error);
      return false;
    }
  }

  /** Cuts the file off after this many bytes. */
  cut(bytes: number): void {
    if (this.size > bytes) this.#open((descriptor) => ftruncateSync(descriptor, bytes));
  }

  /** Warns once for as long as the trouble lasts. */
  warn(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    this.#warn(`warning: cannot write ${this.#path}: ${reasonOf(error)}; the loop continues without it`);
  }

  #open(use: (descriptor: number) => void): void {
    inWorkspaceFolder(this.#workspaceFolder, dirname(this.#path), (folder) => {
      const descriptor = openRegular(join(folder, basename(this.#path)), 'append', 0o666);
      try {
        use(descriptor);
      } finally {
        closeSync(descriptor);
      }
    });
  }
}
