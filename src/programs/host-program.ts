import type { Hooks } from './hook-settings.ts';

/** A program in whose sessions loops can run: where it keeps its settings, and what Ralph adds there. */
export interface HostProgram {
  /** As people know it. */
  readonly title: string;
  parts(place: Place): Parts;
}

export interface Place {
  readonly scope: Scope;
  /** The project. */
  readonly workspace: string;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The folder of this installation of Ralph. */
  readonly ralph: string;
}

/** For all projects of the user, or for one. */
export type Scope = 'user' | 'project';

export interface Parts {
  /** The folders that may be changed; a link must not lead out of them. */
  readonly roots: readonly string[];
  /** The settings that name the hooks; null if the program loads files without being told. */
  readonly settings: { readonly path: string; readonly hooks: Hooks } | null;
  readonly files: readonly OwnFile[];
  /** Folders that `uninstall` removes if they are empty, in this order. */
  readonly folders: readonly string[];
  /** What a person has to know or to do after an install. */
  readonly notes: readonly string[];
  /** What keeps the hooks from running, as far as it can be seen. */
  readonly warnings: readonly string[];
}

export interface OwnFile {
  readonly path: string;
  readonly text: string;
}
