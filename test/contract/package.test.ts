import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as architect from '../../src/architect.ts';
import * as core from '../../src/core.ts';
import * as hook from '../../src/hook.ts';
import * as library from '../../src/index.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('the exports', () => {
  it('of ralph-until-done are the ones that docs/library.md documents', () => {
    expect(Object.keys(library).toSorted()).toEqual([
      'ArchitectLoop',
      'RalphLoop',
      'UserError',
      'createLoop',
      'fileBus',
      'resumeLoop',
      'runLoop',
    ]);
    for (const name of Object.keys(library)) expect(text('docs/library.md')).toContain(name);
  });

  it('S3.40 S3.41 S3.42 S3.43 of ralph-until-done/architect are the names of document 002', () => {
    expect(Object.keys(architect).toSorted()).toEqual(['RalphLoop', 'UserError']);
    expect(architect.RalphLoop).toBe(library.ArchitectLoop);
    const result: architect.RalphLoopResult | null = null;
    const iteration: architect.LoopIteration | null = result;
    const config: architect.RalphConfig = { task: 'x', checks: ['true'] };
    expect([iteration, new architect.RalphLoop(config, () => ({ run: async () => '' })).config]).toEqual([
      null,
      expect.objectContaining({ completionTag: 'COMPLETE', maxIterations: 25, agent: 'build' }),
    ]);
  });

  it('of ralph-until-done/core are what a driver needs', () => {
    expect(Object.keys(core).toSorted()).toEqual([
      'INITIAL',
      'PRESET_NAMES',
      'UNTILS',
      'admits',
      'classify',
      'decide',
      'describeProblem',
      'evolve',
      'explain',
      'failureText',
      'findProblems',
      'fold',
      'mergePolicy',
      'openRun',
      'presets',
      'renderPrompt',
      'report',
      'resolvePolicy',
      'startScan',
    ]);
  });

  it('of ralph-until-done/hook are the ones of document 004, and what a host program needs', () => {
    expect(Object.keys(hook).toSorted()).toEqual([
      'CONTINUATION_PROMPT_TEMPLATE',
      'DEFAULT_COMPLETION_PROMISE',
      'DEFAULT_CONFIG',
      'DEFAULT_CONTINUATION_DELAY',
      'DEFAULT_MAX_ITERATIONS',
      'HOOK_NAME',
      'UserError',
      'buildContinuationPrompt',
      'clearState',
      'createHookRegistry',
      'createHookWith',
      'createRalphCommands',
      'createRalphLoopHook',
      'detectCompletionPromise',
      'detectInMessages',
      'detectInTranscript',
      'getHookRegistry',
      'incrementIteration',
      'parseRalphArguments',
      'readMarkdownState',
      'readState',
      'writeState',
    ]);
  });
});

interface Locked {
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

it.each(['package-lock.json', 'docs/site/package-lock.json'])(
  '%s names every platform and no registry, so that `npm ci` works on any machine',
  (file) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a file of a known tool, looked at in two places
    const { packages } = JSON.parse(text(file)) as {
      readonly packages: Readonly<Record<string, Locked>>;
    };
    const entries = Object.values(packages);
    expect(entries.filter(({ resolved }) => resolved !== undefined)).toEqual([]);
    const optional = entries.flatMap(({ optionalDependencies = {} }) => Object.keys(optionalDependencies));
    expect(optional.filter((name) => packages[`node_modules/${name}`] === undefined)).toEqual([]);
  },
);

describe('the tarball', () => {
  const printed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the documented output of npm
  const [{ files }] = JSON.parse(printed) as [{ readonly files: readonly { readonly path: string }[] }];
  const paths = files.map(({ path }) => path);
  const pages = paths.filter((path) => path.endsWith('.md'));
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own file
  const manifest = JSON.parse(text('package.json')) as { readonly repository: { readonly url: string } };

  it('has no dependencies at run time', () => {
    expect(manifest).not.toHaveProperty('dependencies');
    expect(manifest).not.toHaveProperty('peerDependencies');
    expect(manifest).not.toHaveProperty('optionalDependencies');
  });

  it('contains no source maps and no tests', () => {
    expect(paths.filter((path) => /\.map$|\.test\.|^(?:src|test)\//.test(path))).toEqual([]);
  });

  it('contains a licence beside every bundled package', () => {
    expect(paths).toContain('dist/agents/pydantic-genai-prices.LICENSE');
    expect(paths).toContain('dist/bus/js-yaml.LICENSE');
    expect(paths).toContain('dist/settings/zod.LICENSE');
    expect(paths).toContain('dist/checks/markdown-it.LICENSE');
    expect(paths).toContain('dist/tui/ink.LICENSE');
    expect(paths).toContain('dist/tui/react.LICENSE');
    expect(paths).toContain('dist/cli/commander.LICENSE');
    expect(paths).toContain('dist/cli/jsonc-parser.LICENSE');
    expect(paths).toContain('dist/cli/modelcontextprotocol-server.LICENSE');
    expect(paths).toContain('dist/cli/hono.LICENSE');
    expect(paths).toContain('dist/web/preact.LICENSE');
  });

  it('contains the pages for users, and not the contract and the decisions', () => {
    expect(paths.filter((path) => /^docs\/(?:contract|decisions|site)\b/.test(path))).toEqual([]);
    expect(paths.filter((path) => path.startsWith('docs/')).length).toBeGreaterThan(15);
  });

  it('contains every file that its pages link to', () => {
    const broken = pages.flatMap((page) =>
      [...text(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
        .map(([, link = '']) => join(dirname(page), link))
        .filter((target) => !paths.some((path) => path === target || path.startsWith(join(target, '/'))))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  it('links to other files of the repository by its address', () => {
    const address = manifest.repository.url.replace(/^git\+(.*)\.git$/, '$1');
    expect(manifest).toMatchObject({ homepage: `${address}#readme`, bugs: { url: `${address}/issues` } });
    const links = pages.flatMap((page) =>
      [...text(page).matchAll(/\]\((https:[^)#\s]+)/g)]
        .map(([, link = '']) => link)
        .filter((link) => link.startsWith(`${address}/`)),
    );
    const file = (link: string): string => link.replace(/^.*?\/(?:blob|tree)\/main\//, '');
    expect(links).not.toEqual([]);
    expect(links.filter((link) => !existsSync(join(ROOT, file(link))))).toEqual([]);
  });
});
