/**
 * Compares `docs/contract.md` with the tests that passed in this run, so that a row is done only if its tests pass.
 * `npm run docs` writes the page instead. An incomplete run says nothing about a page that is made from all tests, and leaves it alone.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule, TestRunEndReason, Vitest } from 'vitest/node';
import { missingOf } from '../rig/needs.ts';
import { contractPage, numbersOf, readRequirements, type PassedTest } from './register.ts';

const PAGE = new URL('../../docs/contract.md', import.meta.url);

export default class ContractReporter implements Reporter {
  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(
    modules: readonly TestModule[],
    _errors: unknown,
    reason: TestRunEndReason,
  ): Promise<void> {
    const isWriting = process.env['RALPH_WRITE_DOCS'] === '1';
    const lack = await this.#lackOf(modules, reason);
    if (lack !== null) {
      if (isWriting) process.stderr.write(`docs/contract.md was not written: ${lack}\n`);
      return;
    }
    const passed: PassedTest[] = [];
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      for (const test of module.children.allTests('passed')) passed.push({ name: test.name, file });
    }
    const page = contractPage(readRequirements(), passed);
    if (isWriting) writeFileSync(PAGE, page);
    else if (readPage() !== page) {
      process.stderr.write('docs/contract.md does not say what the tests say: run `npm run docs`\n');
      process.exitCode = 1;
    }
  }

  /** Why the run is not complete; null if it is. */
  async #lackOf(modules: readonly TestModule[], reason: TestRunEndReason): Promise<string | null> {
    if (reason !== 'passed') return 'not every test passed';
    const all = (await this.#vitest?.globTestSpecifications()) ?? [];
    if (modules.length < all.length) return `only ${modules.length} of ${all.length} test files ran`;
    const skipped = modules.flatMap((module) => [...module.children.allTests('skipped')]);
    const lacking = missingOf(this.#vitest?.config.tags ?? [])
      .map(({ name }) => name)
      .filter((name) => skipped.some(({ tags }) => tags.includes(name)));
    if (lacking.length > 0) return `tests were skipped without ${lacking.join(', ')}`;
    const proof = skipped.find(({ name }) => numbersOf(name).length > 0);
    return proof === undefined ? null : `a test of a requirement was skipped: ${proof.name}`;
  }
}

function readPage(): string {
  try {
    return readFileSync(PAGE, 'utf8');
  } catch {
    return '';
  }
}
