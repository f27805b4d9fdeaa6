import { rewindLoop } from '../commands/rewind.ts';
import { findLoop } from './loops.ts';
import { print, warn } from './print.ts';
import { harmless, oneLine } from './terminal.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph rewind`: the files as they were at a checkpoint; what is there now can be had back. */
export async function rewind(
  name: string,
  checkpoint: string,
  options: { readonly cwd?: string },
): Promise<number> {
  const rewound = await finishing(() => rewindLoop(findLoop(workspaceOf(options), name), checkpoint));
  const { change, files, back, repositories, copied, exact, copies } = rewound;
  if (back === null) print(`the files are as in ${checkpoint} already; nothing was changed\n`);
  else {
    print(`rewound the files of ${name} to ${checkpoint}: ${change}\n`);
    for (const { path, how } of files.slice(0, MOST_NAMES))
      print(`  ${how.padEnd(7)}  ${harmless(oneLine(path))}\n`);
    if (files.length > MOST_NAMES) print(`  and ${files.length - MOST_NAMES} more\n`);
    print(`branch and index are as they were; get back what was there with: ralph rewind ${name} ${back}\n`);
  }
  if (exact > 0) print(`note: ${count(exact)} came from exact copies beside the record\n`);
  if (copied > 0) {
    const why = 'filters, line ends or permissions';
    print(`note: git would not give back ${count(copied)} exactly (${why}): copies are in ${copies},\n`);
    print(`      and the way back takes them from there\n`);
  }
  for (const path of repositories) {
    print(`note: ${path} is a repository of its own; what is checked out in it was left as it is\n`);
  }
  return 0;
}

/** Files that are named. */
const MOST_NAMES = 10;

function count(files: number): string {
  return files === 1 ? '1 file' : `${files} files`;
}

/** Files that are half rewound are of no use to anybody: a signal lets it finish, a second one kills. */
async function finishing<T>(work: () => Promise<T>): Promise<T> {
  const tell = (): void => {
    for (const signal of SIGNALS) process.off(signal, tell);
    warn('finishing the rewind; once more ends it in the middle\n');
  };
  for (const signal of SIGNALS) process.on(signal, tell);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, tell);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
