/**
 * The folders of `src/`, from the innermost to the outermost: what belongs in each, which file is its interface, and what
 * it imports. `node scripts/import-graph.mjs` prints the table that stands in ARCHITECTURE.md; with `--files` it prints
 * the imports of every file. `test/contract/layers.test.ts` checks the table, and `npm run docs` writes it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));

/** One sentence for every folder: what belongs in it. The interface is the file that other folders start from. */
const FOLDERS = {
  loop: ['decide.ts', 'the core: pure functions and plain records, with no clock, file or process'],
  files: [
    'files.ts',
    'the only code that opens files which others can write: no links, no FIFOs, whole or not at all',
  ],
  process: ['process.ts', 'the only code that starts, finds and ends processes of this machine'],
  bus: ['bus.ts', 'the message bus: a file that loops, agents and people append messages to'],
  tmux: ['server.ts', 'the tmux server of our own: its windows, and what runs in them'],
  journal: ['journal.ts', 'the append-only journal, in a checksummed file or in memory'],
  agents: ['agent.ts', 'one file per agent CLI: how it is called and how its stream is read'],
  hosts: [
    'host.ts',
    'where a run lives: a process behind a shim, a pane of tmux, a function of this program, or a session',
  ],
  checks: ['check.ts', 'one check, run behind the same shim as an agent'],
  git: ['git.ts', 'what Ralph asks of git: fingerprints, records, commits, worktrees'],
  config: ['config.ts', 'what a user can set: its shape, its validation and the policy that follows'],
  plan: ['plan.ts', 'the items of a plan, read from a Markdown checklist or from prd.json'],
  engine: ['engine.ts', 'the driver: carries out effects through ports and journals the results'],
  store: ['store.ts', 'where a loop is kept: folder, spec, lock, inbox, registry, kept environment'],
  sandbox: ['sandbox.ts', 'what an agent in a sandbox sees of this machine, and how it asks its owner'],
  scm: ['scm.ts', 'what a loop does with version control: checkpoints, commits and other SCM tasks'],
  recovery: ['recovery.ts', 'what to do about steps and processes that a dead owner left behind'],
  worktree: ['worktree.ts', "a loop's own worktree: its place, its set-up, its merge"],
  projections: ['projections.ts', 'the files that are made from the journal, one file of code each'],
  owner: ['owner.ts', 'creating, taking over and driving one loop: the place where adapters meet ports'],
  daemon: ['daemon.ts', 'one process that owns many loops; starting it, stopping it, giving it a loop'],
  service: ['service.ts', 'the daemon as a service of systemd or launchd'],
  views: [null, 'one file per view of a loop for people and programs: summary, result, live stream'],
  commands: [null, 'one file per operation on a loop that no process drives: diff, rewind, remove'],
  library: ['library.ts', 'loops from a program: functions as agents, events, the classes of two documents'],
  session: [
    'session.ts',
    'a loop inside a session of another program: a step per turn, and how each host program asks for it',
  ],
  hook: [
    'hook.ts',
    'the hook of document 004 for programs: events, toasts and recovery, over the steps of session/',
  ],
  install: [
    'install.ts',
    'adding Ralph to a host program, and removing it: edits of settings that belong to others',
  ],
  mcp: ['server.ts', 'the MCP server: tools for agents inside a run and for assistants outside'],
  cli: ['main.ts', 'one file per command, and what it prints'],
};

/** What each source file imports, types included, as paths below `src/`. */
export function importedFiles() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  return new Map(
    files
      .toSorted((a, b) => a.localeCompare(b))
      .map((file) => {
        const text = readFileSync(join(SOURCE, file), 'utf8');
        const imports = [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path]) =>
          relative(SOURCE, join(SOURCE, dirname(file), path)),
        );
        return [file, [...new Set(imports)]];
      }),
  );
}

/** Every folder with the folders that it imports, and how many imports these are. A file beside the folders counts as one. */
export function folderEdges() {
  const edges = new Map();
  for (const [file, imports] of importedFiles()) {
    const from = folderOf(file);
    const to = edges.get(from) ?? new Map();
    edges.set(from, to);
    for (const path of imports) {
      const folder = folderOf(path);
      if (folder !== from) to.set(folder, (to.get(folder) ?? 0) + 1);
    }
  }
  return edges;
}

/** The folders so that each comes after all that it imports; throws if two import each other. */
export function layers(edges = folderEdges()) {
  const order = [];
  const left = new Set([...Object.keys(FOLDERS), ...edges.keys()]);
  while (left.size > 0) {
    const next = [...left].find((folder) =>
      [...(edges.get(folder)?.keys() ?? [])].every((to) => !left.has(to)),
    );
    if (next === undefined) throw new Error(`these folders import each other: ${[...left].join(', ')}`);
    order.push(next);
    left.delete(next);
  }
  return order;
}

/** What is wrong with the list of folders above; empty when it fits `src/`. */
export function problems() {
  const edges = folderEdges();
  return [
    ...[...edges.keys()]
      .filter((folder) => !folder.endsWith('.ts') && !(folder in FOLDERS))
      .map((folder) => `${folder}/ has no sentence in scripts/import-graph.mjs`),
    ...Object.entries(FOLDERS)
      .filter(([folder, [file]]) => !existsSync(join(SOURCE, folder, file ?? '')))
      .map(([folder, [file]]) => `${folder}/${file ?? ''} does not exist`),
  ];
}

/** The table for ARCHITECTURE.md. */
export function folderTable() {
  const edges = folderEdges();
  const rows = layers(edges)
    .filter((folder) => folder in FOLDERS)
    .map((folder) => {
      const [file, sentence] = FOLDERS[folder];
      const imports = [...edges.get(folder).entries()]
        .filter(([other]) => other in FOLDERS)
        .toSorted((a, b) => b[1] - a[1])
        .map(([other, count]) => `${other} ${count}`);
      const start = file === null ? 'each file' : `\`${file}\``;
      return [`\`${folder}/\``, sentence, start, imports.join(', ') || '–'];
    });
  return aligned([['folder', 'what belongs in it', 'start at', 'imports (number of import lines)'], ...rows]);
}

/** A table as the formatter wants it: every column as wide as its widest cell. */
function aligned([head, ...rows]) {
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function folderOf(path) {
  return path.split('/')[0];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const lines = process.argv.includes('--files')
    ? [...importedFiles()].map(([file, imports]) => `${file}: ${imports.join(' ')}`)
    : [folderTable()];
  process.stdout.write(`${lines.join('\n')}\n`);
}
