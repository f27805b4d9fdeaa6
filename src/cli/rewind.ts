import { counted } from '../loop/counted.ts';
import { localLoops } from '../loops/local-loops.ts';
import { warnUnreadable } from './print.ts';
import { print, warn } from './print.ts';
import { oneLine } from '../text/one-line.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph rewind`: restores the files of a checkpoint, and prints how to undo it. */
export async function rewind(
  name: string,
  checkpoint: string,
  options: { readonly cwd?: string },
): Promise<number> {
  const loops = localLoops();
  const loop = await loops.find(name, workspaceOf(options));
  warnUnreadable(await loops.get(loop));
  const rewound = await finishing(() => loops.rewind(loop, checkpoint));
  const { change, files, back, repositories, left, copied, exact, copies } = rewound;
  if (back === null) print(`the files already match checkpoint ${checkpoint}; nothing was changed\n`);
  else {
    print(`rewound the files of ${name} to checkpoint ${checkpoint}: ${change}\n`);
    for (const { path, how } of files.slice(0, MAX_LISTED_FILES))
      print(`  ${how.padEnd(7)}  ${oneLine(path)}\n`);
    if (files.length > MAX_LISTED_FILES) print(`  and ${files.length - MAX_LISTED_FILES} more\n`);
    print(`branch and index are unchanged; undo with: ralph rewind ${name} ${back}\n`);
  }
  if (exact > 0) print(`note: ${counted(exact, 'file')} restored from exact copies beside the checkpoint\n`);
  if (copied > 0) {
    const why = 'filters, line ends or permissions';
    print(`note: git cannot restore ${counted(copied, 'file')} exactly (${why}): exact copies are in\n`);
    print(`      ${copies}, and undoing the rewind uses them\n`);
  }
  for (const { path, isThere } of left) {
    const outcome = isThere ? 'it was left as it is' : 'it cannot be restored';
    print(`note: ${oneLine(path)} is too large for checkpoints; ${outcome}\n`);
  }
  for (const path of repositories) {
    print(`note: ${path} is a separate git repository; its files were not changed\n`);
  }
  return 0;
}

const MAX_LISTED_FILES = 10;

/** Finishes the rewind on a first signal, since half-restored files are useless; a second one kills. */
async function finishing<T>(work: () => Promise<T>): Promise<T> {
  const onSignal = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    warn('finishing the rewind; press Ctrl-C again to stop it now\n');
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work();
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
