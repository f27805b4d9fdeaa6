import { Option, type Command } from 'commander';
import type { Add, Call, Done } from './program-call.ts';
import type { WaitOptions } from './wait.ts';
import { WORKSPACE } from './program-options.ts';

/** Adds the commands that show loops. */
export function viewCommands(add: Add, { done, isCalled }: Call): void {
  add('status [name]', 'show the state of a loop')
    .option(
      '--status <status>',
      'without a name: only loops with this status, as ralph ls has it (default all)',
    )
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { status } = await import('./status.ts');
      done(await status(name ?? null, options));
    });

  add('ls', 'list the loops of the workspace')
    .alias('list')
    .option('-a, --all', 'list the loops of all workspaces')
    .option(
      '--format <form>',
      'table, json or names, as document 003 lists workers (default: a table with state, checks, cost and task)',
    )
    .option(
      '--status <status>',
      'only running, paused, stopped or failed loops, as document 003 has it, or those with this status in --json, such as done (default all)',
    )
    .option('--tag <word>', 'only loops with this tag')
    .option('--tree', 'list child loops below their parents')
    .option('--json', 'print JSON')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { ls } = await import('./ls.ts');
      done(await ls(options));
    });

  add('watch', 'watch and steer loops on the terminal, live; without a terminal like ls')
    .option('-a, --all', 'start with the loops of all workspaces')
    .option('--screen-reader', 'print sentences instead of columns, and no ticking times')
    .option(...WORKSPACE)
    .action(async (options: object) => {
      const { watchLoops } = await import('./watch.ts');
      done(await watchLoops(options));
    });

  add('logs [name]', 'print what the agent of a loop said and did')
    .option('-f, --follow', 'keep printing new output until the loop ends')
    .option('--full', 'also print the tools of a loop with several runs, which --run prints too')
    .option('--history', 'print all runs as they are, without headings (the last 1000 lines)')
    .option('--lines <number>', 'print only the last lines (default: all, with --history 1000)')
    .option(
      '--run <number>',
      'only this iteration, or run of an iteration (7 or 7.2; default: all; with -f, --stderr, --raw: the last)',
    )
    .option('--stderr', 'print stderr instead of stdout')
    .option('--raw', 'print the output unparsed, into a pipe or a file with its escape sequences')
    .option('-V, --verbose', 'also print what the agent thinks')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { logs } = await import('./logs.ts');
      done(await logs(name ?? null, options));
    });

  add('attach [name]', 'show a loop live: its tmux window, or its output where it has none')
    .addOption(new Option('--view <folder>', 'in a window').hideHelp())
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { attach } = await import('./attach.ts');
      done(await attach(name ?? null, options));
    });

  add('wait [name]', 'wait until a loop is not running, and exit as it does')
    .option('--all', 'wait for all running loops of the workspace')
    .option('--timeout <time>', 'give up after this time, e.g. 90, 15m or 2h (default: unlimited)')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: WaitOptions) => {
      const { wait } = await import('./wait.ts');
      done(await wait(name ?? null, options));
    });

  add('story [name]', 'tell what Ralph did in a loop: iterations, checks, claims, waits, commits and totals')
    .option('--since <time>', 'only the last part, for example 2h or 30m')
    .option('--iteration <number>', 'only this iteration')
    .option('--json', 'print one JSON object per line')
    .option('-V, --verbose', 'also print checkpoints and processes')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { story } = await import('./story.ts');
      done(await story(name ?? null, options));
    });

  add(
    'report [name]',
    'report what a loop did: result, changes, checks, rejected claims, waits, cost and next steps',
  )
    .option('-a, --all', 'without a name: the loops of all workspaces')
    .option('--since <time>', 'only what happened since then (default: the whole loop; without a name 12h)')
    .option('--format <form>', 'text, json, markdown, github or html (default text)')
    .option('--output <file>', 'write the report to this file (default: stdout)')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, options: object) => {
      const { reportLoops } = await import('./report-loops.ts');
      done(await reportLoops(name ?? null, options));
    });

  add('diff [name] [what]', 'show what a loop changed: in total, in iteration N, or from A to B (A..B)')
    .option('--stat', 'print the number of changed lines per file')
    .option(...WORKSPACE)
    .action(async (name: string | undefined, what: string | undefined, options: object) => {
      const { diff } = await import('./diff.ts');
      done(
        await diff(
          [name, what].filter((word) => word !== undefined),
          options,
        ),
      );
    });

  add('ui', 'show loops in the browser: what they do, why they are not done, and what they need')
    .option('--port <number>', 'listen on this port of 127.0.0.1 (default: a free one)')
    .option('--open', 'open the page in the browser')
    .option('--read-only', 'show loops, and refuse what changes them')
    .action(async (options: object) => {
      const { ui } = await import('./ui.ts');
      done(await ui(options));
    });

  const plan = add('plan', 'check or show a plan: a Markdown checklist or prd.json');
  if (isCalled('plan')) planCommands(plan, done);
}

function planCommands(plan: Command, done: Done): void {
  const add: Add = (name, description) => plan.command(name).description(description);
  plan.helpCommand('help [command]', 'print the help of a command');
  add('check <file>', 'exit 0 if every item is done; else list the open ones and exit 1').action(
    async (file: string) => {
      const { checkPlan } = await import('./plan.ts');
      done(await checkPlan(file));
    },
  );
  add('show <file>', 'list every item, and mark the next open one')
    .option('--json', 'print JSON')
    .action(async (file: string, options: object) => {
      const { showPlan } = await import('./plan.ts');
      done(await showPlan(file, options));
    });
}
