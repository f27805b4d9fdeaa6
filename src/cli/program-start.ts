import { addOptions } from './program-options.ts';
import type { Add, Call } from './program-call.ts';
import type { LoopOptions } from './loop.ts';
import type { RunOptions } from './options.ts';
import type { ResumeOptions } from './resume.ts';
import type { SpawnOptions } from './spawn.ts';

/** Adds the commands that run a loop. */
export function startCommands(add: Add, { command, isCalled, help, done }: Call): void {
  const run = add('run [task]', 'run an agent until done (the default command)');
  if (isCalled('run')) addOptions(run, 'run', help);
  run
    .usage('[TASK] [options] [-- COMMAND…]')
    .action(async (task: string | undefined, options: RunOptions) => {
      const { runLoop } = await import('./run.ts');
      done(await runLoop(task ?? null, options, command));
    });

  const loop = add(
    'loop [task]',
    'run an agent until every check passes and the agent prints the completion word (for CI)',
  );
  if (isCalled('loop')) addOptions(loop, 'loop', help);
  loop
    .usage('TASK --check COMMAND [options] [-- COMMAND…]')
    .action(async (task: string | undefined, options: LoopOptions) => {
      const { loop: start } = await import('./loop.ts');
      done(await start(task ?? null, options, command));
    });

  const spawn = add('spawn [task]', 'start a named loop in the background (preset swarm)');
  if (isCalled('spawn')) addOptions(spawn, 'spawn', help);
  spawn
    .usage('--name NAME [--prompt-file FILE | TASK] --max-iterations NUMBER [options] -- COMMAND…')
    .action(async (task: string | undefined, options: SpawnOptions) => {
      const { spawn: start } = await import('./spawn.ts');
      done(await start(task ?? null, options, command));
    });

  const resume = add('resume [name]', 'resume a loop that was paused, stopped, crashed or hit a limit');
  if (isCalled('resume')) addOptions(resume, 'resume', help);
  resume.action(async (name: string | undefined, options: ResumeOptions) => {
    const { resumeLoop } = await import('./resume.ts');
    done(await resumeLoop(name ?? null, options));
  });
}
