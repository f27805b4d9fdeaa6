/**
 * Runs an interactive agent in a pane of Ralph's tmux server, behind the same shim as a process.
 *
 * 1. The shim, its files and the marker are those of the process host: the exit status, the search for a run after a crash
 *    and its end do not depend on tmux. Pane and agent belong to the tmux server and outlive the owner.
 * 2. A loop has one window; every run is started in it, in the place of the run before.
 * 3. Everything that the agent prints is recorded from its first byte, as the terminal gets it.
 * 4. A run that was started is never started again, and gets its prompt at most once (`pane-run.ts`).
 */
import { closeSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openRegular, PRIVATE_FILE, PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { replaceFile } from '../files/replace-file.ts';
import { processes } from '../process/process.ts';
import { unknownBirth } from '../process/process-table.ts';
import { shimCommand, shimEnvironment } from '../process/shim.ts';
import { startInPane } from '../tmux/pane.ts';
import { TmuxError } from '../tmux/server.ts';
import { ensureWindow } from '../tmux/windows.ts';
import { NotStarted, type Host, type HostedRun } from './host.ts';
import { paneScript } from './pane-script.ts';
import { PaneRun, type PaneSpec } from './pane-run.ts';
import { processHost, resolveCommand } from './process.ts';
import { ProcessRun } from './process-run.ts';

/** Runs agents in panes; `describe` returns the spec of a run. */
export function tmuxHost(describe: (run: string) => PaneSpec): Host {
  const inProcess = processHost(describe);
  const find: Host['find'] = async (request) => {
    const found = await inProcess.find(request);
    return found === null ? null : new PaneRun(found, describe(request.run));
  };
  return {
    outlivesOwner: true,
    find,
    async start(request) {
      const spec = describe(request.run);
      const argv = resolveCommand(spec);
      try {
        return await start(spec, argv);
      } catch (error) {
        if (!(error instanceof TmuxError)) throw error;
        // A script that was not started yet finds its file gone.
        rmSync(scriptIn(spec.folder), { force: true });
        // tmux may have started the agent and not answered in time.
        const started = await find(request);
        if (started !== null) return started;
        throw notStarted(error);
      }
    },
  };
}

async function start(spec: PaneSpec, argv: readonly [string, ...string[]]): Promise<HostedRun> {
  const { folder, cwd, env, marker, server } = spec;
  const log = join(folder, 'stdout.log');
  makeFolders(folder, PRIVATE_FOLDER);
  closeSync(openRegular(log, 'append'));
  const script = paneScript({
    argv: shimCommand({ folder, argv }),
    cwd,
    env: shimEnvironment({ ...env, [marker.name]: marker.value }),
  });
  const { pane } = await ensureWindow(server, spec.window);
  replaceFile(scriptIn(folder), script, { mode: PRIVATE_FILE });
  const pid = await startInPane(server, pane, {
    argv: ['/bin/sh', scriptIn(folder)],
    log,
    tag: marker.value,
  });
  const birth = processes.birth(pid) ?? unknownBirth(pid);
  return new PaneRun(new ProcessRun(spec, birth, null), spec);
}

function scriptIn(folder: string): string {
  return join(folder, 'pane.sh');
}

function notStarted({ why, message }: TmuxError): NotStarted {
  const text = `cannot start the agent in a terminal: ${message}`;
  switch (why) {
    case 'missing':
      return new NotStarted({ kind: 'command-not-found', message: text });
    case 'too-old':
    case 'foreign':
      return new NotStarted({ kind: 'invalid-configuration', message: text });
    case 'failed':
      return new NotStarted({ kind: 'other', message: text });
  }
}
