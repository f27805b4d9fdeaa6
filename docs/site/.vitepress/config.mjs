/** The site: the Markdown files of the repository as they are, at the same paths. */
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { headingAnchor } from '../../../scripts/heading-anchor.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));

const page = (text, name) => ({ text, link: `/docs/${name}` });
const group = (text, ...items) => ({ text, items });
const decisions = readdirSync(join(root, 'docs/decisions')).map((file) => {
  const [, title] = /^# (.*)$/m.exec(readFileSync(join(root, 'docs/decisions', file), 'utf8')) ?? [];
  return page(title, `decisions/${file.replace('.md', '')}`);
});

export default defineConfig({
  title: 'Ralph',
  description: 'Runs a coding agent again and again until the work is verifiably done.',
  srcDir: root,
  srcExclude: [
    'src/**',
    'test/**',
    'plugins/**',
    'bench/**',
    '.changeset/**',
    '.github/**',
    'docs/site/**',
    'CHANGELOG.md',
    'AGENTS.md',
  ],
  outDir: './dist',
  cacheDir: './.cache',
  // GitHub Pages serves a project below its name; the workflow says which.
  base: process.env['SITE_BASE'] ?? '/',
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  cleanUrls: true,
  ignoreDeadLinks: false,
  markdown: {
    anchor: { slugify: headingAnchor },
    config: (md) => md.core.ruler.push('links-of-the-repository', relink),
  },
  // The index of the search is larger than the limit of Vite's warning.
  vite: { plugins: [vueOfTheSite()], build: { chunkSizeWarningLimit: 2000 } },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        // What people look for is in the pages about it, not in how these came about.
        _render: (text, env, md) =>
          /^docs\/(?:decisions|contract)/.test(env.relativePath) ? '' : md.render(text, env),
      },
    },
    outline: [2, 3],
    nav: [page('By task', ''), page('Commands', 'commands'), page('Settings', 'configuration')],
    sidebar: [
      group(
        'Start',
        { text: 'Ralph', link: '/' },
        page('By task', ''),
        page('First loop', 'start'),
        page('Install', 'install'),
        page('In CI', 'ci'),
        page('In a session', 'in-session'),
        page('Coming from …', 'coming-from'),
      ),
      group(
        'What to do, and when it is done',
        page('Claims', 'claims'),
        page('Plans', 'plans'),
        page('Limits', 'limits'),
        page('Settings', 'configuration'),
        page('Agents', 'agents'),
        page('Presets', 'presets'),
      ),
      group(
        'Safety',
        page('Sandbox', 'sandbox'),
        page('Inside a run', 'inside-a-run'),
        page('Undo', 'undo'),
        { text: 'Security', link: '/SECURITY' },
      ),
      group(
        'Look after loops',
        page('Commands', 'commands'),
        page('Exit codes', 'exit-codes'),
        page('Stop and resume', 'stop-and-resume'),
        page('Background', 'background'),
        page('Report', 'report'),
        page('In the browser', 'ui'),
        page('Watch', 'watch'),
        page('Story', 'story'),
        page('Notices', 'notices'),
        page('Children and the bus', 'children-and-bus'),
      ),
      group(
        'From programs',
        page('For agents: the skill', 'skill'),
        page('MCP', 'mcp'),
        page('Library', 'library'),
      ),
      group(
        'Understand and change',
        page('Terms', 'language'),
        { text: 'Architecture', link: '/ARCHITECTURE' },
        { text: 'Contributing', link: '/CONTRIBUTING' },
        page('Performance', 'performance'),
        page('Contract', 'contract'),
        page('The hall', 'hall'),
      ),
      { ...group('Decisions', ...decisions), collapsed: true },
    ],
  },
  // `llms.txt` links to the pages as they are.
  buildEnd: ({ outDir, pages }) => {
    for (const file of ['llms.txt', ...pages]) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true });
      copyFileSync(join(root, file), join(outDir, file));
    }
  },
});

/** Links to a README lead to the index that it becomes here. */
function relink(state) {
  const inline = state.tokens.flatMap(({ children }) => children ?? []);
  for (const token of inline) {
    const href = token.type === 'link_open' ? token.attrGet('href') : null;
    if (href !== null && !/^\w+:/.test(href))
      token.attrSet('href', href.replace(/(^|\/)README\.md(?=#|$)/, '$1index.md'));
  }
}

/** The pages are outside of this folder, where Vue is: what renders them imports it when it runs, from here. */
function vueOfTheSite() {
  return {
    name: 'vue-of-the-site',
    enforce: 'pre',
    resolveId: (id, _, { ssr }) => (ssr && /^vue(?:\/|$)/.test(id) ? { id, external: true } : null),
  };
}
