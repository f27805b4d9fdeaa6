/** Which options each command has: groups of settings, and rows of the same form for what is no setting. */
import type { Group, Row } from '../settings/rows.ts';

/** The commands whose options are settings. */
export type Settable = (typeof SETTING_OPTIONS)[number];
export const SETTING_OPTIONS = ['run', 'loop', 'spawn', 'resume', 'config'] as const;

/** An option: that of a setting, or one that is only for the command line. */
export type OptionRow = Omit<Row, 'flag'> & { readonly flag: string };

export interface Section {
  readonly heading: string;
  /** Options that are no settings. */
  readonly own?: readonly OptionRow[];
  readonly group?: Group;
}

const NAME: OptionRow = { flag: '--name <name>', says: 'name of the loop', byDefault: 'derived from the task' };
const CWD: OptionRow = { flag: '--cwd <folder>', says: 'workspace folder', byDefault: 'the current folder' };
const DETACH: OptionRow = { flag: '-d, --detach', says: 'run the loop in the background; return once it runs', everyday: '' };
const PROMPT_FILE: OptionRow = {
  flag: '-f, --prompt-file <file>',
  says: 'file with the task, at most 10 MB, read again in every iteration (- = stdin)',
  everyday: 'TASK.md',
};
const PROMPT: readonly OptionRow[] = [{ flag: '-p, --prompt <text>', says: 'task for the agent (the same as TASK)' }, PROMPT_FILE];
const PLACE: readonly OptionRow[] = [
  { flag: '--tag <word>', says: 'word to find the loop by in ralph ls --tag', list: 'tags' },
  { flag: '--fresh', says: 'archive an unfinished loop of the same name and start over' },
  { flag: '--no-child', says: 'inside a run: start an unrelated loop, not a child of the loop that runs here; it counts in the same budget' },
  CWD,
];
/** Of the commands that create a loop. */
const START: readonly OptionRow[] = [
  ...PLACE,
  { flag: '--trust', says: 'trust the settings files of the workspace as they are (the same as RALPH_TRUST=1)' },
  { flag: '--dry-run', says: 'print the command, the prompt, the checks and the limits, and start nothing' },
];
const ENV: OptionRow = { flag: '--env <key=value>', says: "variable for the agent's environment", list: 'variables' };

const QUIET: readonly OptionRow[] = [
  { flag: '-q, --quiet', says: 'print the final result only' },
  { flag: '-V, --verbose', says: 'print more details' },
];
const REPORT: readonly OptionRow[] = [
  { flag: '--report <form>', says: 'write the result as json, markdown or github' },
  { flag: '--report-file <file>', says: 'file for the report', byDefault: 'stdout; with github, the job summary' },
];
const output = (json: string): Section => ({
  heading: 'Output:',
  own: [...QUIET, { flag: '--json', says: json }, ...REPORT],
  group: 'output',
});
const OUTPUT = output('print only the final result on stdout, as JSON');
const SETTINGS: readonly Section[] = [
  { heading: 'Agent:', own: [ENV], group: 'agent' },
  { heading: 'Checks and completion:', group: 'checks' },
  { heading: 'Limits:', group: 'limits' },
  { heading: 'Notices:', group: 'notices' },
];
const LOOP: readonly Section[] = [{ heading: 'Background:', own: [DETACH] }, ...SETTINGS, OUTPUT];

export const SECTIONS: Readonly<Record<Settable, readonly Section[]>> = {
  run: [{ heading: 'Task:', own: [...PROMPT, NAME, ...START], group: 'task' }, ...LOOP],
  loop: [
    {
      heading: 'Task:',
      own: [
        { flag: '--spec <file>', says: 'specification that replaces TASK, read again in every iteration', everyday: 'SPEC.md' },
        { flag: '-c, --config <file>', says: 'YAML configuration file with a ralph_loop block' },
        NAME,
        ...START,
      ],
      group: 'task',
    },
    ...LOOP,
  ],
  spawn: [
    {
      heading: 'Task:',
      own: [
        { ...PROMPT_FILE, says: 'file with the task, read again in every iteration' },
        { flag: '--name <name>', says: 'name of the loop (required)', everyday: 'fix-tests' },
        ...START,
        { flag: '--branch <name>', says: 'branch of the worktree, new or existing', byDefault: "the loop's name" },
        { flag: '--worktree-dir <folder>', says: 'folder for the worktree', byDefault: 'REPOSITORY-worktrees beside it' },
      ],
      group: 'task',
    },
    {
      heading: 'Background:',
      own: [
        { flag: '--wait', says: 'show the loop until it ends, and exit as it does (Ctrl-C only ends the view)', everyday: '' },
        { flag: '--ralph', says: 'the same as --wait, for command lines of document 003' },
        { flag: '-d, --detach', says: 'with --ralph: return once the loop runs (without --ralph: the default)' },
        // The document's command lines name what is the default here.
        { flag: '--no-tmux', says: 'open no tmux window for the loop', secondFlag: '--tmux' },
        { flag: '--session <name>', says: 'tmux session for the window', byDefault: 'ralph' },
        { flag: '--tmux-socket <name>', says: 'socket of the tmux server', byDefault: "Ralph's own", secondFlag: '--ready-wait' },
      ],
    },
    ...SETTINGS,
    OUTPUT,
  ],
  resume: [
    {
      heading: 'Options:',
      own: [
        { flag: '--now', says: 'do not wait for a usage limit to reset', everyday: '' },
        { flag: '-d, --detach', says: 'continue it in the background', everyday: '' },
        ENV,
        CWD,
      ],
    },
    { heading: 'New limits (default: unchanged):', group: 'limits' },
    OUTPUT,
  ],
  config: [{ heading: 'Task:', own: [...PROMPT, NAME, ...PLACE], group: 'task' }, ...SETTINGS, output('print JSON')],
};
