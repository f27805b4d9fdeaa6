/**
 * The folders of `src/`, from the innermost to the outermost: what belongs in each, which file is its interface, and what
 * it may import. `test/contract/layers.test.ts` checks them, and `npm run docs` writes them into ARCHITECTURE.md.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SOURCE = fileURLToPath(new URL('../src/', import.meta.url));

/**
 * For every folder its interface, the file that other folders start from; one sentence about what belongs in it; and the
 * folders above it, single files and packages that it may import.
 */
const FOLDERS = {
  loop: ['decide.ts', 'the core: pure functions and plain records, with no clock, file or process', ''],
  text: [
    null,
    'how a loop is told to people: one file per kind of line, word or table, made from facts alone',
    'loop fast-string-width',
  ],
  files: [
    'files.ts',
    'the only code that opens files which others can write: no links, no FIFOs, whole or not at all',
    '',
  ],
  process: [
    'process.ts',
    'the only code that starts, finds and ends processes of this machine',
    'loop files',
  ],
  bus: [
    'bus.ts',
    'the message bus: a file that loops, agents and people append messages to',
    'loop files process user-error.ts js-yaml',
  ],
  tmux: [
    'server.ts',
    'the tmux server of our own: its windows, and what runs in them',
    'loop files process user-error.ts',
  ],
  journal: [
    'journal.ts',
    'the append-only journal, in a checksummed file or in memory',
    'loop files user-error.ts',
  ],
  agents: [
    'agent.ts',
    'one file per agent CLI: how it is called and how its stream is read',
    'loop files process @pydantic/genai-prices',
  ],
  hosts: [
    'host.ts',
    'where a run lives: a process behind a shim, a pane of tmux, a function of this program, or a session',
    'loop files process tmux',
  ],
  checks: ['check.ts', 'one check, run behind the same shim as an agent', 'loop files process'],
  git: ['git.ts', 'what Ralph asks of git: fingerprints, records, commits, worktrees', 'loop files process'],
  config: [
    'config.ts',
    'what a user can set: its shape, its validation and the policy that follows',
    'loop files user-error.ts js-yaml jsonc-parser zod',
  ],
  plan: [
    'plan.ts',
    'the items of a plan, read from a Markdown checklist or from prd.json',
    'loop files config user-error.ts markdown-it',
  ],
  engine: [
    'engine.ts',
    'the driver: carries out effects through ports and journals the results',
    'loop journal/journal.ts agents/reader.ts hosts/host.ts',
  ],
  store: [
    'store.ts',
    'where a loop is kept: folder, spec, lock, inbox, registry, kept environment',
    'loop text/times.ts text/one-line.ts files process bus tmux journal git config user-error.ts',
  ],
  sandbox: [
    'sandbox.ts',
    'what an agent in a sandbox sees of this machine, and how it asks its owner',
    'loop files process bus agents git store user-error.ts',
  ],
  scm: [
    'scm.ts',
    'what a loop does with version control: checkpoints, commits and other SCM tasks',
    'loop files process agents checks git engine/ports.ts store sandbox user-error.ts',
  ],
  recovery: [
    'recovery.ts',
    'what to do about steps and processes that a dead owner left behind',
    'loop files process hosts store scm user-error.ts',
  ],
  worktree: [
    'worktree.ts',
    "a loop's own worktree: its place, its set-up, its merge",
    'loop files process checks git plan store sandbox scm recovery user-error.ts',
  ],
  projections: [
    'projections.ts',
    'the files that are made from the journal, one file of code each',
    'loop text/times.ts files bus journal store user-error.ts',
  ],
  owner: [
    'owner.ts',
    'creating, taking over and driving one loop: the place where adapters meet ports',
    'loop files process bus tmux journal agents hosts checks git config plan engine store sandbox scm recovery worktree projections user-error.ts',
  ],
  daemon: [
    'daemon.ts',
    'one process that owns many loops; starting it, stopping it, giving it a loop',
    'loop text/times.ts files process journal engine store owner user-error.ts',
  ],
  service: [
    'service.ts',
    'the daemon as a service of systemd or launchd',
    'loop files process store daemon user-error.ts',
  ],
  surroundings: [
    'survey.ts',
    'what this machine has for loops: agents and their logins, git, a sandbox, likely checks',
    'files process agents config store sandbox user-error.ts',
  ],
  loops: [
    'loops.ts',
    'the hall: everything that can be done with loops, for every front',
    'loop text/waits.ts files process tmux git journal agents config store sandbox scm recovery worktree projections owner daemon user-error.ts',
  ],
  library: [
    'library.ts',
    'loops from a program: functions as agents, events, the classes of two documents',
    'loop bus agents/agent.ts hosts/function-call.ts config/aliases.ts config/closest.ts config/config.ts config/policy.ts config/values.ts store owner loops user-error.ts',
  ],
  session: [
    'session.ts',
    'a loop inside a session of another program: a step per turn, and how each host program asks for it',
    'loop text/one-line.ts text/session.ts files journal agents hosts config engine store owner loops/summary.ts loops user-error.ts',
  ],
  hook: [
    'hook.ts',
    'the hook of document 004 for programs: events, toasts and recovery, over the steps of session/',
    'loop files agents store session user-error.ts',
  ],
  install: [
    'install.ts',
    'adding Ralph to a host program, and removing it: edits of settings that belong to others',
    'loop files config store user-error.ts jsonc-parser',
  ],
  mcp: [
    'server.ts',
    'the MCP server: tools for agents inside a run and for assistants outside',
    'loop text files process bus config store loops user-error.ts @modelcontextprotocol/server zod',
  ],
  cli: [
    'main.ts',
    'one file per command, and what it prints',
    'loop text bus agents/agent.ts config plan store sandbox scm worktree owner daemon service surroundings loops session install mcp user-error.ts commander @clack/prompts',
  ],
};

/**
 * What each source file imports, as paths below `src/` and names of packages; Node.js's own modules do not count. Types
 * count, except in `text/`, which describes what others find out.
 */
export function importedFiles() {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  return new Map(
    files
      .toSorted((a, b) => a.localeCompare(b))
      .map((file) => {
        const text = readFileSync(join(SOURCE, file), 'utf8');
        const imports = [...text.matchAll(IMPORT)]
          .filter(([, type]) => type === undefined || folderOf(file) !== 'text')
          .map(([, , path]) =>
            path.startsWith('.') ? relative(SOURCE, join(SOURCE, dirname(file), path)) : path,
          );
        return [file, [...new Set(imports)]];
      }),
  );
}

const IMPORT = /(?:^import (type) [^;]*?)?(?:from|import\()\s*'(?!node:)([^']+)'/gm;

/** Every folder with the folders that it imports, and how many imports these are. A file beside the folders counts as one. */
function folderEdges() {
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

/** What is wrong with the list of folders above and with these imports; empty when both fit `src/`. */
export function problems(imports = importedFiles()) {
  const found = [];
  for (const [folder, [file, , allowed]] of Object.entries(FOLDERS)) {
    if (!existsSync(join(SOURCE, folder, file ?? ''))) found.push(`${folder}/${file ?? ''} does not exist`);
    for (const path of allowed.split(' '))
      if (folderOf(path) in FOLDERS && !isAbove(folderOf(path), folder))
        found.push(`${folder}/ may import ${path}, which is not above it`);
  }
  for (const [file, paths] of imports) {
    const folder = folderOf(file);
    if (folder === file) continue;
    if (!(folder in FOLDERS)) {
      found.push(`${file} is in a folder that scripts/import-graph.mjs does not list`);
      continue;
    }
    const places = [folder, ...FOLDERS[folder][2].split(' ')];
    for (const path of paths)
      if (!places.some((place) => isIn(path, place)))
        found.push(`${file} imports ${path}, which scripts/import-graph.mjs does not allow`);
  }
  return found;
}

function isAbove(folder, other) {
  const order = Object.keys(FOLDERS);
  return order.indexOf(folder) < order.indexOf(other);
}

/** Whether it is this file or package, or in this folder. */
function isIn(path, place) {
  return path === place || path.startsWith(`${place}/`);
}

/** The table for ARCHITECTURE.md. */
export function folderTable() {
  const edges = folderEdges();
  const rows = Object.entries(FOLDERS).map(([folder, [file, sentence]]) => {
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
