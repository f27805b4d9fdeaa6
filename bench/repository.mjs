// The time of an iteration inside a git repository, compared with shell loops that run the same agent and the same git commands.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, scratch } from './measure.mjs';

export const SMALL = 30;
const LARGE = 50_000;
const FILES_PER_FOLDER = 100;
/** Answers at once and changes a file. */
const AGENT = '#!/bin/sh\nread line\necho $$ >folder-0/file-0\necho done\n';

export function* repository() {
  yield inSmallRepository();
  yield withCheckAndCommit();
  yield inLargeRepository();
}

function inSmallRepository() {
  const count = 60;
  const box = repositoryOf(SMALL);
  const agent = box.program('agent', AGENT);
  const index = join(box.root, 'index-of-by-hand');
  const byHand = box.program(
    'by-hand',
    `#!/bin/sh
i=0
last=$(git rev-parse HEAD)
while [ $i -lt ${count} ]; do
  cat PROMPT.md | ${agent}
  GIT_INDEX_FILE=${index} git add -A
  tree=$(GIT_INDEX_FILE=${index} git write-tree)
  last=$(git commit-tree "$tree" -p "$last" -m "iteration $i")
  git update-ref "refs/by-hand/$$/$i" "$last"
  i=$((i+1))
done
`,
  );
  copyFileSync(join(box.workspace, '.git', 'index'), index);
  return {
    what: 'an iteration in a small repository, with its checkpoint',
    ...perIteration(box, { rounds: 7, count, agent, bare: () => box.time(byHand, []).ms / count }),
    baseline: 'shell loop that makes the same checkpoint',
    limit: 2,
  };
}

/** In a worktree, where Ralph commits without asking the agent for a message. */
function withCheckAndCommit() {
  const count = 20;
  const box = repositoryOf(SMALL);
  const agent = box.program('agent', AGENT);
  const byHand = box.program(
    'by-hand',
    `#!/bin/sh
i=0
while [ $i -lt ${count} ]; do
  cat PROMPT.md | ${agent}
  sh -c 'test -f folder-0/file-0'
  git add -A
  git commit --quiet --message "iteration $i"
  i=$((i+1))
done
`,
  );
  const options = ['--worktree', '--check', 'test -f folder-0/file-0'];
  return {
    what: 'an iteration with a check and a commit',
    ...perIteration(box, { rounds: 7, count, agent, options, bare: () => box.time(byHand, []).ms / count }),
    baseline: 'shell loop with the check, `git add` and `git commit`',
    limit: 6,
  };
}

function inLargeRepository() {
  const box = repositoryOf(LARGE);
  const changes = Array.from({ length: 10 }, (_, index) => `echo $$ >folder-${index}/file-${index}00\n`);
  const agent = box.program('agent', `#!/bin/sh\nread line\n${changes.join('')}`);
  const bare = () => {
    box.time(agent, [], 'x\n');
    return box.time('git', ['status', '--porcelain']).ms;
  };
  return {
    what: 'an iteration in a repository of 50,000 files, ten of them changed',
    ...perIteration(box, { rounds: 5, count: 6, agent, bare }),
    baseline: '`git status`',
    limit: 1.8,
  };
}

/** The median time of an iteration, without the start and the end of its loop, and that of the baseline. */
function perIteration(box, { rounds, count, agent, options = [], bare }) {
  const run = (iterations) =>
    box.ralph('run', '-q', ...options, '-f', 'PROMPT.md', '-m', String(iterations), '--', agent).ms;
  const all = medians(rounds, { bare, long: () => run(count), short: () => run(1) });
  return { ours: (all.long - all.short) / (count - 1), unit: 'ms', bare: all.bare };
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
  return box;
}
