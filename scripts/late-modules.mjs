/**
 * Splits a bundle in two: what every call needs, and modules whose functions few calls need. Each of these functions is replaced
 * by one that loads the second file and calls it there, so the source imports all of them in the same way.
 */
import { readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

/**
 * What the hook of a session loads late: no turn needs these modules that continues outside of a repository without checks. Modules that
 * only these import follow them. test/plugins/hook-start.test.ts fails if a turn needs one of them.
 */
export const LATE_IN_HOOK = modules({
  agents: 'all-agents call message-run messages prompt-argument remedies tool-input trouble',
  bus: 'message-id message question records',
  checks: 'check slug',
  cli: 'errors terminal',
  files: 'set-aside',
  git: 'fingerprint index-entries index-file pack-records seen-tree work worktree',
  hosts: 'function process tmux',
  journal: 'last-event parse',
  loop: 'continuation control-shape control event-shape evidence-text excerpt last-line-matcher last-lines limit-changes own-line-matcher pattern-matcher plan preamble python-pattern validate word-matcher words',
  owner: 'changed-after completion-fact loop-plan markers run-facts sandboxed-agent task-file',
  plan: 'check',
  process: 'full-disk logged proc-sweep shell-quote stop turns',
  projections: 'run-ending',
  sandbox: 'loop-sandbox requests',
  scm: 'checkpoints evidence git scm start task-progress user-git',
  session: 'arguments check-environment codex mode-block session-start status-text step',
  store:
    'aliases background check-output enclosing-runs excerpts how-it-failed ralph-folder recorded-children short-list strangers tmux-server visible',
});

function modules(folders) {
  return Object.entries(folders).flatMap(([folder, names]) =>
    names.split(/\s+/).map((name) => resolve(`src/${folder}/${name}.ts`)),
  );
}

/**
 * Loads late modules with the first call of one of their functions. All that the file has to export is the entry `entry` of the same
 * build.
 */
export function withLateModules(late, isEarly, entry) {
  const file = `./hook-${entry}.js`;
  return {
    name: 'with-late-modules',
    resolveId: (id, importer) => {
      if (id === entry) return `\0${entry}`;
      if (id === LOADER) return id;
      if (id === file) return { id, external: 'absolute' };
      if (importer === undefined || !isEarly(importer)) return null;
      const path = resolve(dirname(importer), id);
      return late.includes(path) ? `\0late-${path}` : null;
    },
    load: (id) => {
      if (id === `\0${entry}`) return late.map((path) => exportedAgain(path)).join('\n');
      // One function for all of them: each function of a file takes V8 time to load.
      if (id === LOADER)
        return `export const late = (name) => (...args) => require('${file}')[name](...args);`;
      if (!id.startsWith('\0late-')) return null;
      const path = id.slice('\0late-'.length);
      const functions = functionsOf(path).map(
        (name) => `export const ${name} = late('${unique(path, name)}');`,
      );
      return [`import { late } from '${LOADER}';`, ...functions].join('\n');
    },
  };
}

const LOADER = '\0loader';

function exportedAgain(path) {
  const names = functionsOf(path).map((one) => `${one} as ${unique(path, one)}`);
  return `export { ${names.join(', ')} } from '${path}';`;
}

/** Two modules may export the same name. */
function unique(path, name) {
  return `${relative('src', path).replaceAll(/\W/g, '_')}_${name}`;
}

/** The functions that a module exports. The bundler refuses an early module that imports anything else of it. */
function functionsOf(path) {
  const functions = readFileSync(path, 'utf8').matchAll(/^export (?:async )?function (\w+)/gm);
  return [...functions].map(([, name]) => name);
}
