/**
 * Everything that a user can set, one row for each setting. The type of the settings, the schema of the files, second names, options of
 * the command line, help texts, options of the library and docs/configuration.md follow from the rows. What a setting means is one
 * line in `policy.ts`.
 */
import { AGENT } from './agent.ts';
import { CHECKS } from './checks.ts';
import { ASSISTANTS, FILE, NOTICES, OUTPUT } from './front.ts';
import { LIMITS } from './limits.ts';
import type { OptionsIn, PathIn, Row, Rows, SettingsIn } from './rows.ts';
import { TASK } from './task.ts';

type TaskRows = typeof TASK;
type AgentRows = typeof AGENT;
type CheckRows = typeof CHECKS;
type LimitRows = typeof LIMITS;
type NoticeRows = typeof NOTICES;
type OutputRows = typeof OUTPUT;
type AssistantRows = typeof ASSISTANTS;

/** The settings of a loop; a program that uses the library has the same. */
export interface LoopRows
  extends SettingsIn<TaskRows>, SettingsIn<AgentRows>, SettingsIn<CheckRows>, SettingsIn<LimitRows> {}

/** The settings of the front that shows the loop. */
export interface FrontRows
  extends
    SettingsIn<NoticeRows>,
    SettingsIn<OutputRows>,
    SettingsIn<AssistantRows>,
    SettingsIn<typeof FILE> {}

export interface OutputFlags extends OptionsIn<OutputRows> {}
export interface LimitFlags extends OptionsIn<LimitRows> {}
export interface LoopFlags
  extends OptionsIn<TaskRows>, OptionsIn<AgentRows>, OptionsIn<CheckRows>, OptionsIn<NoticeRows> {}

/** The path of every setting that has a value of its own: `maxTime`, `agent.name`. */
export type SettingPath = PathIn<
  TaskRows & AgentRows & CheckRows & LimitRows & NoticeRows & OutputRows & AssistantRows
>;

export type Group = keyof typeof GROUPS;

/** The rows by their groups, in the order of the help and of the pages. */
export const GROUPS: Readonly<
  Record<'file' | 'task' | 'agent' | 'notices' | 'checks' | 'limits' | 'output' | 'assistants', Rows>
> = {
  file: FILE,
  task: TASK,
  agent: AGENT,
  notices: NOTICES,
  checks: CHECKS,
  limits: LIMITS,
  output: OUTPUT,
  assistants: ASSISTANTS,
};

/** The groups of `LoopRows`. */
export const LOOP_GROUPS: readonly Group[] = ['task', 'agent', 'checks', 'limits'];

/** All rows of the first level. */
export const ROWS: Rows = {
  ...FILE,
  ...TASK,
  ...AGENT,
  ...CHECKS,
  ...LIMITS,
  ...NOTICES,
  ...OUTPUT,
  ...ASSISTANTS,
};

/** The rows with a value of their own below these, by their paths; parts of items are `checks[].hint`. */
export function valuesIn(rows: Rows, before = ''): ReadonlyMap<string, Row> {
  const found = new Map<string, Row>();
  for (const [key, row] of Object.entries(rows)) {
    const { type, list, parts = {} } = row;
    if (type !== undefined || list !== undefined) found.set(before + key, row);
    const inner = valuesIn(parts, `${before}${key}${list === undefined ? '' : '[]'}.`);
    for (const [path, part] of inner) found.set(path, part);
  }
  return found;
}

/** The rows with a value of their own, by their paths. */
export const VALUES: ReadonlyMap<string, Row> = valuesIn(ROWS);
