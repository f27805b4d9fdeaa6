import { hall } from './hall.ts';
import { painter } from './line-options.ts';
import { growSlowly } from './little-memory.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph watch`: shows the loops live on a terminal; anywhere else it prints the table of `ralph ls` once. */
export async function watchLoops(options: WatchOptions): Promise<number> {
  const { all = false, screenReader = false } = options;
  const { stdin, stdout, env } = process;
  if (!stdin.isTTY || !stdout.isTTY || env['TERM'] === 'dumb') {
    const { ls } = await import('./ls.ts');
    return ls({ all, ...(options.cwd === undefined ? {} : { cwd: options.cwd }) });
  }
  const loops = hall();
  const workspace = workspaceOf(options);
  growSlowly();
  const { watch } = await import('../tui/watch.ts');
  return watch({
    loops,
    terminal: { stdin, stdout },
    workspace,
    isOfAll: all,
    paint: painter(stdout),
    home: env['HOME'],
    isForScreenReader: screenReader,
    async morning(isOfAll) {
      const { reportText } = await import('./report-loops.ts');
      return reportText(loops, null, { all: isOfAll, cwd: workspace });
    },
  });
}

interface WatchOptions {
  readonly all?: boolean;
  readonly screenReader?: boolean;
  readonly cwd?: string;
}
