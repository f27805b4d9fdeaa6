import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node';
import { missingOf } from './needs.ts';

/** Ends a run with one line for each program without which tests were skipped, and for each reason that a test itself gave. */
export default class NeedsReporter implements Reporter {
  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    const without = missingOf(this.#vitest?.config.tags ?? []).map(({ name, description = '' }) =>
      lineOf(
        `without ${name} (${description})`,
        skipped.filter(({ tags }) => tags.includes(name)),
      ),
    );
    const notes = new Set(skipped.map(noteOf).filter((note) => note !== ''));
    const others = [...notes].map((note) =>
      lineOf(
        note,
        skipped.filter((test) => noteOf(test) === note),
      ),
    );
    process.stderr.write([...without, ...others].join(''));
  }
}

function noteOf(test: TestCase): string {
  const result = test.result();
  return result.state === 'skipped' ? (result.note ?? '') : '';
}

function lineOf(why: string, { length }: readonly TestCase[]): string {
  return length === 0 ? '' : `${length} ${length === 1 ? 'test' : 'tests'} skipped ${why}\n`;
}
