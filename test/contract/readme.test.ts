import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { EXIT_CODES } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';

const root = new URL('../../', import.meta.url);
const text = (page: string) => readFileSync(new URL(page, root), 'utf8');
const docs = readdirSync(new URL('docs/', root), { recursive: true, encoding: 'utf8' });
const pages = ['README.md', ...docs.filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`)];

// The package contains these pages; a link to any other file of the repository breaks there.
it.each(pages)('%s links only to pages of the package that exist', (page) => {
  const links = [...text(page).matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, link = '']) => link);
  const isFine = (link: string): boolean => {
    const target = new URL(link, new URL(page, root));
    const isInPackage = [new URL('docs/', root).href, new URL('SECURITY.md', root).href].some((place) =>
      target.href.startsWith(place),
    );
    return isInPackage && existsSync(target);
  };
  expect(links.filter((link) => !isFine(link))).toEqual([]);
});

const help = () =>
  execFileSync(process.execPath, [fileURLToPath(new URL('dist/cli/main.js', root)), 'help', '--all'], {
    encoding: 'utf8',
  });

it('the README and ralph help --all list the exit codes of the default preset', () => {
  const codes = [...new Set(Object.values(EXIT_CODES))].toSorted((a, b) => a - b);
  const section = /^## Exit codes\n([^]*?)^## /m.exec(text('README.md'))?.[1] ?? '';
  expect([...section.matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code))).toEqual(codes);
  const [, listed = ''] = /Exit codes: ([^]*)$/.exec(help()) ?? [];
  expect([...listed.matchAll(/(?:^|, *\s*)(\d+) /g)].map(([, code]) => Number(code))).toEqual(codes);
});

it('the README has a row for people who come from each document, with its preset', () => {
  const section = /^## Coming from …\n([^]*?)^## /m.exec(text('README.md'))?.[1] ?? '';
  const rows = [...section.matchAll(/^\| [\w-]+ \(document (\d+)\) +\| `([\w-]+)`: .*\|.*\| \[docs\//gm)];
  const documented = Object.entries(presets).flatMap(([name, { summary }]) => {
    const [, document] = /^document (\d+): /.exec(summary) ?? [];
    return document === undefined ? [] : [[document, name]];
  });
  expect(rows.map(([, document, preset]) => [document, preset])).toEqual(documented);
});

it('the README names every command', () => {
  const commands = [...help().matchAll(/^ {2}([a-z]+)[ |]/gm)].map(([, name = '']) => name);
  expect(commands).toContain('run');
  const readme = text('README.md');
  const unnamed = commands.filter((name) => !readme.includes(`\`ralph ${name}`));
  expect(unnamed.filter((name) => !['help', 'ralph'].includes(name))).toEqual([]);
});
