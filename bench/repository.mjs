// The time of an iteration inside a git repository, compared with shell loops that run the same agent and the same git commands.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, scratch } from './measure.mjs';

export const SMALL = 30;
const LARGE = 50_000;
const COUNT = 60;
const COMMITS = 20;
const MORE = 6;
const FILES_PER_FOLDER = 100;
/** Answers at once and changes a file. */
const AGENT = '#!/bin/sh\nread line\necho $$ >folder-0/file-0\necho done\n';

export function* repository() {
  yield inSmallRepository();
  yield withCheckAndCommit();
  yield inLargeRepository();
}

function inSmallRepository() {
  const box = repositoryOf(SMALL);
  const agent = box.program('agent', AGENT);
  const index = join(box.root, 'bare-index');
  const bare = box.program(
    'bare',
    `#!/bin/sh
i=0
last=$(git rev-parse HEAD)
while [ $i -lt ${COUNT} ]; do
  cat PROMPT.md | ${agent}
  GIT_INDEX_FILE=${index} git add -A
  tree=$(GIT_INDEX_FILE=${index} git write-tree)
  last=$(git commit-tree "$tree" -p "$last" -m "iteration $i")
  git update-ref "refs/bare/$$/$i" "$last"
  i=$((i+1))
done
`,
  );
  copyFileSync(join(box.workspace, '.git', 'index'), index);
  const run = (count) => box.run(agent, count);
  const all = medians(7, {
    bare: () => box.time(bare, []).ms,
    ours: () => run(COUNT),
    short: () => run(1),
  });
  box.done();
  return row(
    'an iteration in a small repository, with its checkpoint',
    { ours: (all.ours - all.short) / (COUNT - 1), bare: all.bare / COUNT },
    'shell loop that makes the same checkpoint',
    1.3,
  );
}

/** In a worktree, where Ralph commits without asking the agent for a message. */
function withCheckAndCommit() {
  const box = repositoryOf(SMALL);
  const agent = box.program('agent', AGENT);
  const bare = box.program(
    'bare',
    `#!/bin/sh
i=0
while [ $i -lt ${COMMITS} ]; do
  cat PROMPT.md | ${agent}
  sh -c 'test -f folder-0/file-0'
  git add -A
  git commit --quiet --message "iteration $i"
  i=$((i+1))
done
`,
  );
  const args = ['--worktree', '--check', 'test -f folder-0/file-0'];
  const run = (count) => box.run(agent, count, ...args);
  const all = medians(7, {
    bare: () => box.time(bare, []).ms,
    ours: () => run(COMMITS),
    short: () => run(1),
  });
  box.done();
  return row(
    'an iteration with a check and a commit',
    { ours: (all.ours - all.short) / (COMMITS - 1), bare: all.bare / COMMITS },
    'shell loop with the check, `git add` and `git commit`',
    2,
  );
}

function inLargeRepository() {
  const box = repositoryOf(LARGE);
  const changes = Array.from({ length: 10 }, (_, index) => `echo $$ >folder-${index}/file-${index}00\n`);
  const agent = box.program('agent', `#!/bin/sh\nread line\n${changes.join('')}`);
  const run = (count) => box.run(agent, count);
  const all = medians(5, {
    status: () => {
      box.time(agent, [], 'x\n');
      return box.time('git', ['status', '--porcelain']).ms;
    },
    ours: () => run(MORE),
    short: () => run(1),
  });
  box.done();
  return row(
    'an iteration in a repository of 50,000 files, ten of them changed',
    { ours: (all.ours - all.short) / (MORE - 1), bare: all.status },
    '`git status`',
    1.8,
  );
}

/** A workspace with a repository of many files, in folders of a hundred. */
export function repositoryOf(files) {
  const box = scratch();
  const git = (...args) => execFileSync('git', args, { cwd: box.workspace, env: box.env });
  git('init', '--quiet');
  // Git's automatic maintenance would disturb the measurement.
  const settings = { 'gc.auto': '0', 'maintenance.auto': 'false', 'user.name': 'a', 'user.email': 'a@b' };
  for (const [name, value] of Object.entries(settings)) git('config', name, value);
  for (let index = 0; index < files; index++) {
    const folder = join(box.workspace, `folder-${Math.floor(index / FILES_PER_FOLDER)}`);
    if (index % FILES_PER_FOLDER === 0) mkdirSync(folder);
    writeFileSync(join(folder, `file-${index}`), `${index}\n`.repeat(20));
  }
  git('add', '--all');
  git('commit', '--quiet', '--message', 'all');
  const run = (agent, count, ...args) =>
    box.ralph('run', '-q', ...args, '-f', 'PROMPT.md', '-m', String(count), '--', agent).ms;
  return { ...box, run };
}

function row(what, { ours, bare }, against, limit) {
  return {
    what,
    ours: `${ours.toFixed(2)} ms`,
    against: `${bare.toFixed(2)} ms, ${against}`,
    ratio: ours / bare,
    limit,
  };
}
