import { existsSync, readFileSync, statSync } from 'node:fs';
import { readJournal } from '../../../src/journal/file.ts';
import type { LoopEvent } from '../../../src/loop/event.ts';
import { fold } from '../../../src/loop/evolve.ts';
import type { LoopState } from '../../../src/loop/state.ts';
import type { LoopFiles } from './loop-files.ts';
import { until } from './until.ts';

/** A loop, read from its folder. */
export class RecordedLoop {
  readonly #files: LoopFiles;

  constructor(files: LoopFiles) {
    this.#files = files;
  }

  /** The folder of its state. */
  get folder(): string {
    return this.#files.state;
  }

  get workspaceFolder(): string {
    return this.#files.workspaceFolder;
  }

  /** A file of its state or its workspace folder. */
  file(...path: readonly string[]): string {
    return this.#files.path(...path);
  }

  read(...path: readonly string[]): string {
    return readFileSync(this.file(...path), 'utf8');
  }

  /** The whole journal; reading it verifies every checksum. */
  get events(): readonly LoopEvent[] {
    const events: LoopEvent[] = [];
    readJournal(this.file('journal.jsonl'), { take: (event) => void events.push(event) });
    return events;
  }

  /** What the journal folds to. */
  get state(): LoopState {
    return fold(this.events);
  }

  all<Type extends LoopEvent['type']>(type: Type): readonly Extract<LoopEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<LoopEvent, { type: Type }> => event.type === type);
  }

  /** Waits until the journal has `count` matching events of this type. */
  journals<Type extends LoopEvent['type']>(
    type: Type,
    fits: (event: Extract<LoopEvent, { type: Type }>) => boolean = () => true,
    count = 1,
  ): Promise<Extract<LoopEvent, { type: Type }>> {
    let known = -1;
    return until(
      `${type} in the journal`,
      () => {
        // Reading it verifies every checksum, which takes time: a waiting test must not slow down what it waits for.
        const size = statSync(this.file('journal.jsonl'), { throwIfNoEntry: false })?.size ?? -1;
        if (size === known) return null;
        known = size;
        return size < 0 ? null : (this.all(type).filter(fits)[count - 1] ?? null);
      },
      {
        seen: () => (existsSync(this.file('journal.jsonl')) ? this.read('journal.jsonl') : 'no journal'),
      },
    );
  }
}
