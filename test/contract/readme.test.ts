import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('the README shows an example that is there, runs and prints what the README says', async () => {
  const readme = text('README.md');
  const shown = /```ts\n([^]*?)```/.exec(readme)?.[1];
  expect(shown).toBe(text('examples/toy-driver.ts'));

  const print = vi.spyOn(console, 'log').mockReturnValue();
  await import('../../examples/toy-driver.ts');
  expect(readme).toContain(`It prints \`${print.mock.calls.flat().join()}\`.`);
  print.mockRestore();
});
