import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

const text = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const page = text('docs/library.md');
const shown = [...page.matchAll(/```ts\n([^]*?)```\n(?:\nIt prints\n\n```text\n([^]*?)```)?/g)];
/** The programs that use the library; `http-page.ts` is a front of Ralph itself (test/e2e/http-page.test.ts). */
const examples = readdirSync(new URL('../../examples', import.meta.url)).filter(
  (file) => file !== 'http-page.ts',
);

describe('docs/library.md', () => {
  it.each(examples)('shows examples/%s and its output', async (file) => {
    const source = text(`examples/${file}`);
    const example = shown.find(([, code]) => code === source);
    expect(example, `docs/library.md does not show examples/${file}`).toBeDefined();
    const print = openFolder();
    await import(`../../examples/${file.replace('.ts', '')}.ts`);
    expect(print()).toBe(example?.[2]);
    expect(process.exitCode ?? 0).toBe(0);
  });

  it('shows no other example', () => {
    expect(shown).toHaveLength(examples.length);
  });
});

/** Moves to a throwaway folder, which is also HOME; the result returns what was printed since. */
function openFolder(): () => string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-example-')));
  const before = process.cwd();
  process.chdir(folder);
  vi.stubEnv('HOME', folder);
  vi.stubEnv('XDG_STATE_HOME', join(folder, 'state'));
  const print = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => {
    print.mockRestore();
    vi.unstubAllEnvs();
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  });
  return () => print.mock.calls.map((words) => `${words.join(' ').trimEnd()}\n`).join('');
}
