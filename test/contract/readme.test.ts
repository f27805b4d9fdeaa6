import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { headingAnchor } from '../../scripts/heading-anchor.mjs';
import { pageOnTerminal } from '../../src/text/page.ts';
import { EXIT_CODES } from '../../src/loop/outcome.ts';
import { presets } from '../../src/loop/presets.ts';

const root = new URL('../../', import.meta.url);
const text = (page: string) => readFileSync(new URL(page, root), 'utf8');
const pages = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '--', '*.md', 'llms.txt', ':!:test/'],
  { cwd: root, encoding: 'utf8' },
)
  .trim()
  .split('\n');
const docs = readdirSync(new URL('docs/', root)).filter((file) => file.endsWith('.md'));

/** The address of a file of the repository, for pages in the package that link to one that is not. */
const BLOB = /"homepage": "([^"#]+)/.exec(text('package.json'))?.[1]?.concat('/blob/main/') ?? '';

/** What a page links to within the repository, pictures too. */
function links(page: string): readonly string[] {
  const prose = text(page)
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, '``');
  return [...prose.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)|(?:src|srcset)="([^"]+)"/gm)]
    .map(([, inline, reference, picture]) => inline ?? reference ?? picture ?? '')
    .map((link) => (link.startsWith(BLOB) ? new URL(link.slice(BLOB.length), root).href : link))
    .filter((link) => !/^(?!file)\w+:/.test(link));
}

/** The anchors of a page's headings. */
function anchors(page: string): ReadonlySet<string> {
  const found = new Map<string, number>();
  const headings = text(page)
    .replaceAll(/^```[^]*?^```/gm, '')
    .matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) => {
      const anchor = headingAnchor(heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1'));
      const times = found.get(anchor) ?? 0;
      found.set(anchor, times + 1);
      return times === 0 ? anchor : `${anchor}-${times}`;
    }),
  );
}

it.each(pages)('%s links only to files and headings that exist', (page) => {
  const isBroken = (link: string): boolean => {
    const target = new URL(link, new URL(page, root));
    const file = target.href.slice(root.href.length).split('#')[0] ?? '';
    const anchor = decodeURIComponent(target.hash.slice(1));
    return !existsSync(new URL(file, root)) || (anchor !== '' && !anchors(file).has(anchor));
  };
  expect(links(page).filter((link) => isBroken(link))).toEqual([]);
});

// The package contains these pages; a link to any other file of the repository breaks there.
it.each(pages.filter((page) => page === 'README.md' || page.startsWith('docs/')))(
  '%s links only to pages of the package',
  (page) => {
    const isInPackage = (link: string): boolean =>
      [new URL('docs/', root), new URL('SECURITY.md', root), new URL(page, root)].some((place) =>
        new URL(link, new URL(page, root)).href.startsWith(place.href),
      );
    expect(links(page).filter((link) => !isInPackage(link))).toEqual([]);
  },
);

it.each(['docs/README.md', 'llms.txt'])('%s lists every page', (index) => {
  const listed = new Set(links(index).map((link) => new URL(link, new URL(index, root)).href));
  const missing = docs.filter(
    (page) => !listed.has(new URL(`docs/${page}`, root).href) && `docs/${page}` !== index,
  );
  expect(missing).toEqual([]);
});

it('the site has every page in its sidebar', () => {
  const sidebar = text('docs/site/.vitepress/config.mjs');
  const names = docs.map((page) => page.replace('.md', '')).filter((name) => name !== 'README');
  expect(names.filter((name) => !sidebar.includes(`', '${name}')`))).toEqual([]);
});

it('the README has a page and a test for each of its promises', () => {
  const [, section = ''] = /^## Six promises\n([^]*?)^## /m.exec(text('README.md')) ?? [];
  const rows = [...section.matchAll(/^\| .+ \| \[.+\]\((docs\/.+\.md)\) +\| `(.+\.test\.ts)` +\|$/gm)];
  expect(rows).toHaveLength(6);
  expect(rows.filter(([, , test = '']) => !existsSync(new URL(test, root)))).toEqual([]);
});

const help = () =>
  execFileSync(process.execPath, [fileURLToPath(new URL('dist/cli/main.js', root)), 'help', '--all'], {
    encoding: 'utf8',
  });

it('docs/exit-codes.md and ralph help --all list the exit codes of the default preset', () => {
  const codes = [...new Set(Object.values(EXIT_CODES))].toSorted((a, b) => a - b);
  expect([...text('docs/exit-codes.md').matchAll(/^\| (\d+) /gm)].map(([, code]) => Number(code))).toEqual(
    codes,
  );
  const [, listed = ''] = /Exit codes: ([^]*)$/.exec(help()) ?? [];
  expect([...listed.matchAll(/(?:^|, *\s*)(\d+) /g)].map(([, code]) => Number(code))).toEqual(codes);
});

it('docs/coming-from.md has a row for people who come from each document, with its preset', () => {
  const rows = [
    ...text('docs/coming-from.md').matchAll(/^\| [\w-]+ \(document (\d+)\) +\| `([\w-]+)`: .*\|.*\| \[/gm),
  ];
  const documented = Object.entries(presets).flatMap(([name, { summary }]) => {
    const [, document] = /^document (\d+): /.exec(summary) ?? [];
    return document === undefined ? [] : [[document, name]];
  });
  expect(rows.map(([, document, preset]) => [document, preset])).toEqual(documented);
});

it('docs/commands.md names every command', () => {
  const commands = [...help().matchAll(/^ {2}([a-z]+)[ |]/gm)].map(([, name = '']) => name);
  expect(commands).toContain('run');
  const page = text('docs/commands.md');
  const unnamed = commands.filter((name) => !page.includes(`\`ralph ${name}`));
  expect(unnamed.filter((name) => !['help', 'ralph'].includes(name))).toEqual([]);
});

it('ralph help shows the code of every page as code', () => {
  const topics = docs.filter((page) => page !== 'contract.md');
  const shown = topics.map(
    (page) => [page, pageOnTerminal(text(`docs/${page}`), { width: 80, bold: (words) => words })] as const,
  );
  expect(shown.flatMap(([page, lines]) => (lines.includes('```') ? [page] : []))).toEqual([]);
});
