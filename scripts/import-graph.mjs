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
    'loop/excerpt.ts jsonc-parser',
  ],
  process: [
    'process.ts',
    'the only code that starts, finds and ends processes of this machine',
    'loop files',
  ],
  tmux: [
    'server.ts',
    'the tmux server of our own: its windows, and what runs in them',
    'loop files process user-error.ts',
  ],
  git: ['git.ts', 'what Ralph asks of git: fingerprints, records, commits, worktrees', 'loop files process'],
  journal: [
    'journal.ts',
    'the append-only journal in a checksummed file, and the snapshot of what it folds to',
    'loop files user-error.ts',
  ],
  bus: [
    'bus.ts',
    'the message bus: a file that loops, agents and people append messages to',
    'loop files process user-error.ts js-yaml',
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
  checks: [
    'check.ts',
    'one check, run behind the same shim as an agent, and the items of a plan',
    'loop files process user-error.ts markdown-it',
  ],
  engine: [
    'engine.ts',
    'the driver: carries out effects through ports and journals the results',
    'loop journal/journal.ts agents/reader.ts hosts/host.ts',
  ],
  home: [
    'home.ts',
    'where Ralph keeps loops: state folder, spec, lock, inbox, registry, children, kept environment',
    'loop text/times.ts files process tmux git/location.ts journal bus user-error.ts',
  ],
  settings: [
    'settings.ts',
    'what a user can set: its shape, its validation, the policy that follows, and trust in it',
    'loop text/one-line.ts files home user-error.ts js-yaml zod',
  ],
  sandbox: [
    'sandbox.ts',
    'what an agent in a sandbox sees of this machine, and how it asks its owner',
    'loop files process git bus agents home user-error.ts',
  ],
  workspace: [
    'workspace-folder.ts',
    'what a loop does in the workspace: its folder, its worktree, checkpoints, commits, evidence',
    'loop files process git bus agents checks engine/ports.ts home settings/settings.ts sandbox user-error.ts',
  ],
  notices: [
    'channels.ts',
    'how notices reach a person: one file per channel, and the outbox of a loop',
    'loop text/notices.ts files process home',
  ],
  projections: [
    'projections.ts',
    'the files that are made from the journal, one file of code each',
    'loop text/times.ts files journal bus home workspace/workspace-folder.ts user-error.ts',
  ],
  owner: [
    'owner.ts',
    'creating, taking over, recovering and driving one loop: the place where adapters meet ports',
    'loop text/times.ts files process tmux git journal bus agents hosts checks engine home settings sandbox workspace notices projections text/notices.ts user-error.ts',
  ],
  background: [
    'background.ts',
    'one process that owns many loops: starting it, stopping it, giving it a loop, and its system service',
    'loop text/times.ts files process engine home owner user-error.ts package-name.ts',
  ],
  loops: [
    'loops.ts',
    'the hall: everything that can be done with loops, for every front',
    'loop text files process tmux git journal bus agents checks home settings sandbox workspace notices projections owner background user-error.ts package-name.ts',
  ],
  session: [
    'session.ts',
    'a loop inside a session of another program: a step per turn, and the hook of document 004',
    'loop text/one-line.ts text/session.ts files agents/json.ts agents/trouble.ts hosts/session.ts engine/engine.ts home settings/settings.ts settings/values.ts projections/end-record.ts owner loops user-error.ts',
  ],
  programs: [
    'programs.ts',
    'one folder per host program: its events, and how Ralph is added to it and removed',
    'loop files agents home session user-error.ts package-name.ts jsonc-parser',
  ],
  library: [
    'library.ts',
    'loops from a program: functions as agents, events, the classes of two documents',
    'loop bus/bus.ts settings/aliases.ts settings/closest.ts settings/settings.ts settings/rows.ts settings/values.ts loops user-error.ts',
  ],
  mcp: [
    'server.ts',
    'the MCP server: tools for agents inside a run and for assistants outside',
    'loop text bus/bus.ts settings projections/end-record.ts loops user-error.ts @modelcontextprotocol/server zod',
  ],
  web: [
    'server.ts',
    'the server of the page in the browser: who may ask, the verbs of the hall as JSON, and a stream of what changes',
    'loop text settings loops user-error.ts hono @hono/node-server',
  ],
  tui: [
    'watch.ts',
    'what `ralph watch` shows on a terminal, and what its keys do',
    'loops text settings/set-limits.ts user-error.ts ink react',
  ],
  cli: [
    'main.ts',
    'one file per command, and what it prints',
    'loop text process/attached.ts bus/bus.ts settings background/background.ts loops session/step.ts programs/programs.ts mcp tui/watch.ts web user-error.ts package-name.ts commander @clack/prompts',
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
