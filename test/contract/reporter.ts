/**
 * Compares `docs/contract.md` with the tests that passed in this run, so that a row is done only if its tests pass.
 * `npm run docs` writes the page instead.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';
import { contractPage, readRequirements, type PassedTest } from './register.ts';

const PAGE = new URL('../../docs/contract.md', import.meta.url);

export default class ContractReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const passed: PassedTest[] = [];
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId);
      for (const test of module.children.allTests('passed')) passed.push({ name: test.name, file });
    }
    const page = contractPage(readRequirements(), passed);
    if (process.env['RALPH_WRITE_DOCS'] === '1') writeFileSync(PAGE, page);
    else if (readPage() !== page) {
      process.stderr.write('docs/contract.md does not say what the tests say: run `npm run docs`\n');
      process.exitCode = 1;
    }
  }
}

function readPage(): string {
  try {
    return readFileSync(PAGE, 'utf8');
  } catch {
    return '';
  }
}
