/** Lists: of loops, worktrees and agents, and what is said below them. A table has its head as the first row. */
import { counted, ofLimit, shortList } from '../loop/counted.ts';
import type { FamilyCount } from '../loop/event.ts';
import { costOfLimit, type LimitUse } from '../loop/limit-use.ts';
import { planCount } from '../loop/plan.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import type { LoopRow, Strays } from '../loops/list.ts';
import type { AgentHere } from '../loops/machine.ts';
import type { WorktreeSummary } from '../loops/worktrees.ts';
import { oneLine, visible } from './one-line.ts';
import { isWaitingState, waitingState } from './waits.ts';
import { age } from './workers.ts';

/** The list of `ralph ls`, below its head; columns that no loop needs are left out, and on a narrow terminal those of the agent. */
export function loopTable(
  loops: readonly ListedLoop[],
  { width, now }: { readonly width: number; readonly now: number },
): readonly (readonly string[])[] {
  const rows = loops.map(({ row, level }) => cellsOf(row, level, width, now));
  const shown = COLUMNS.filter(
    ({ of, from = 0, isOptional = false }) =>
      width >= from && (!isOptional || rows.some((row) => row[of] !== '')),
  );
  return [
    shown.map(({ head }) => head),
    ...rows.map((row) => shown.map(({ of }) => (row[of] === '' && of !== 'reason' ? '-' : row[of]))),
  ];
}

/** The cells of one line; empty if there is nothing to say. */
export type Cells = Readonly<
  Record<
    | 'name'
    | 'state'
    | 'iterations'
    | 'checks'
    | 'cost'
    | 'plan'
    | 'age'
    | 'agent'
    | 'branch'
    | 'tags'
    | 'task'
    | 'reason',
    string
  >
>;

/** What the cells say; also of a loop that no list has. */
export type ToldRow = Omit<LoopRow, 'worker'> & { readonly worker: Pick<LoopRow['worker'], 'startedAt'> };

interface Column {
  readonly of: keyof Cells;
  readonly head: string;
  /** The columns that a terminal must have for it. */
  readonly from?: number;
  /** Left out where no loop has it. */
  readonly isOptional?: true;
}

const WIDE = 110;
const VERY_WIDE = 200;

const COLUMNS: readonly Column[] = [
  { of: 'name', head: 'NAME' },
  { of: 'state', head: 'STATE' },
  { of: 'iterations', head: 'ITER' },
  { of: 'checks', head: 'CHECKS', isOptional: true },
  { of: 'cost', head: 'COST', isOptional: true },
  { of: 'plan', head: 'PLAN', isOptional: true },
  { of: 'age', head: 'AGE' },
  { of: 'agent', head: 'AGENT', from: WIDE, isOptional: true },
  { of: 'branch', head: 'BRANCH', from: WIDE, isOptional: true },
  { of: 'tags', head: 'TAG', isOptional: true },
  { of: 'task', head: 'TASK' },
  { of: 'reason', head: 'REASON', from: VERY_WIDE, isOptional: true },
];

/** What a list says about a loop. `level` indents the name, and `width` is that of the terminal. */
export function cellsOf(row: ToldRow, level: number, width: number, now: number): Cells {
  const { name, iterations, iterationLimit, about, limits, family, tags = [], worker, status } = row;
  const { plan } = row.record;
  const { agent, branch, task } = about;
  const reason = whyOf(row);
  // Without a column for the reason, what is wrong with the files stands where the task does.
  const isInTask = width < VERY_WIDE && (status === 'unreadable' || row.warning !== undefined);
  return {
    name: `${'  '.repeat(level)}${name}`,
    state: stateText(row),
    iterations: ofLimit(iterations, iterationLimit),
    checks: checksCell(row),
    cost: costCell(limits, row.record.costUsd, width >= WIDE ? (family?.below ?? null) : null) ?? '',
    plan: plan === null ? '' : planCount(plan),
    age: worker.startedAt === null ? '' : age(now - worker.startedAt),
    agent: agent === null ? '' : visible(agent.model ?? agent.name),
    branch: visible(branch ?? ''),
    tags: visible(tags.join(',')),
    task: isInTask ? reason : visible(task ?? ''),
    reason,
  };
}

/** Why it does not run or what it waits for, and what is wrong with its files. */
function whyOf({ reason, waiting, warning, questions }: ToldRow): string {
  const question = questions?.[0] === undefined ? null : `asks: ${questions[0].text}`;
  const why = waiting === null ? (reason ?? question ?? []) : `waiting: ${waiting}`;
  return visible(oneLine([why, warning ?? []].flat().join('; ')));
}

/** The state of a loop in a few words. */
function stateText({ status, questions = [], waiting }: ToldRow): string {
  if (status === 'running' || status === 'in-session') {
    if (questions.length > 0) return counted(questions.length, 'question');
    if (waiting !== null) return waitingState(waiting);
  }
  return STATES[status];
}

const STATES: Readonly<Record<LoopRow['status'], string>> = {
  running: 'running',
  paused: 'paused',
  'in-session': 'in a session',
  left: 'not running',
  crashed: 'crashed',
  unreadable: 'unreadable',
  done: 'done',
  waiting: 'needs a person',
  'iterations-exhausted': 'iteration limit',
  'time-exhausted': 'time limit',
  'cost-exhausted': 'cost limit',
  'tokens-exhausted': 'token limit',
  'limit-waits-exhausted': 'usage limit',
  'failures-exhausted': 'failed',
  stuck: 'stuck',
  'prompt-lost': 'prompt lost',
  'bad-input': 'bad input',
  fatal: 'fatal error',
  stopped: 'stopped',
};

/** The loops that wait for a person first, then those that run, then those that have ended well; else the order stays. */
export function byNeed(rows: readonly LoopRow[]): readonly LoopRow[] {
  return rows.toSorted((a, b) => needOf(a) - needOf(b));
}

function needOf({ status, questions = [] }: LoopRow): number {
  if (status === 'done' || status === 'stopped') return 3;
  if (questions.length > 0 || status === 'waiting') return 0;
  return status === 'running' || status === 'in-session' ? 2 : 1;
}

/** Whether the checks passed when they last ran: `pass`, `1 of 3 fail`; empty if none has run. */
function checksCell({ verification: { checks } }: ToldRow): string {
  const failed = checks.filter(({ passed }) => passed === false).length;
  if (failed > 0) return checks.length === 1 ? 'fail' : `${failed} of ${checks.length} fail`;
  return checks.some(({ passed }) => passed === true) ? 'pass' : '';
}

/** What is used of the limit on cost, or without one the cost, and what of it by children; null if there is neither. */
function costCell(
  limits: readonly LimitUse[],
  costUsd: number | null,
  below: FamilyCount['below'] | null,
): string | null {
  const own = costUsd === null || costUsd === 0 ? null : `$${costUsd.toFixed(2)}`;
  const used = costOfLimit(limits) ?? own;
  if (below === null || below.usd === 0) return used;
  const theirs = `$${below.usd.toFixed(2)} by ${counted(below.loops, 'child', 'children')}`;
  return used === null ? theirs : `${used}, of it ${theirs}`;
}

/** The colour of a cell of the table; null for none. */
export function colourOf(head: string | undefined, cell: string): 'green' | 'red' | 'yellow' | null {
  if (head === 'CHECKS' && cell !== '-') return cell === 'pass' ? 'green' : 'red';
  if (head !== 'STATE') return null;
  if (cell === STATES.done) return 'green';
  if (RED.has(cell)) return 'red';
  return NO_COLOUR.has(cell) || isWaitingState(cell) ? null : 'yellow';
}

const RED: ReadonlySet<string> = new Set(
  (['crashed', 'unreadable', 'failures-exhausted', 'fatal', 'bad-input', 'prompt-lost'] as const).map(
    (status) => STATES[status],
  ),
);
const NO_COLOUR: ReadonlySet<string> = new Set([STATES.running, STATES['in-session'], STATES.stopped]);

export interface ListedLoop {
  readonly row: LoopRow;
  /** How many of its ancestors are listed above it. */
  readonly level: number;
}

/** The order of a list: each loop followed by its child loops. A loop whose parent is not in the list comes first, like one without a parent. */
export function inTree(rows: readonly LoopRow[]): readonly ListedLoop[] {
  const listed = new Set(rows.map(({ id }) => id));
  const children = new Map<string | null, LoopRow[]>();
  for (const row of rows) {
    const parent = row.parent !== null && listed.has(row.parent) ? row.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), row]);
  }
  const found: ListedLoop[] = [];
  const add = (parent: string | null, level: number): void => {
    for (const row of children.get(parent) ?? []) {
      found.push({ row, level });
      add(row.id, level + 1);
    }
  };
  add(null, 0);
  // Two specs that name each other are below nothing.
  const shown = new Set(found.map(({ row }) => row));
  const others = rows.filter((row) => !shown.has(row));
  return found.concat(others.map((row) => ({ row, level: 0 })));
}

/** The loops of each workspace together, in the order in which the workspaces come first. */
export function byWorkspace(loops: readonly ListedLoop[]): readonly ListedLoop[] {
  const groups = new Map<string, ListedLoop[]>();
  for (const loop of loops) {
    const group = groups.get(loop.row.workspace);
    if (group === undefined) groups.set(loop.row.workspace, [loop]);
    else group.push(loop);
  }
  return [...groups.values()].flat();
}

/** What is said below a list about loops that were left, and about what looks like one. */
export function strayNotes({ gone, strangers }: Strays): readonly string[] {
  const moved = new Set(strangers.flatMap(({ movedFrom }) => movedFrom ?? []));
  return [
    ...(gone.length === 0
      ? []
      : [
          `the workspace of ${shortList(gone, 8)} is gone; if it was moved, run there: ralph move OLD_FOLDER; else remove such loops with: ralph rm --gone`,
        ]),
    ...[...moved].map(
      (from) =>
        `this workspace was ${from} before; take its loops along with: ralph move ${shellQuote(from)}`,
    ),
    ...strangers.filter(({ movedFrom }) => movedFrom === null).map(({ why }) => why),
  ];
}

/** The worktrees of loops. */
export function worktreeTable(trees: readonly WorktreeSummary[]): readonly (readonly string[])[] {
  const rows = trees.map(({ name, branch, path, state, isMerged, work, status }) => [
    name,
    branch,
    state === 'dirty' ? `dirty (${work.changes})` : state,
    work.commits > 0 ? `ahead (${work.commits})` : isMerged ? 'merged' : 'none yet',
    status,
    path,
  ]);
  return [['NAME', 'BRANCH', 'FILES', 'COMMITS', 'LOOP', 'PATH'], ...rows];
}

/** The supported agents. */
export function agentTable(agents: readonly AgentHere[]): readonly (readonly string[])[] {
  const rows = agents.map(({ name, path, version, triedVersion, tells, calledAs, install }) => [
    name,
    path === null ? 'no' : (version ?? 'yes'),
    triedVersion,
    tells === 'cost' ? 'cost' : 'tokens',
    path === null ? `install with: ${install}` : calledAs,
  ]);
  return [['AGENT', 'INSTALLED', 'TESTED WITH', 'REPORTS', 'COMMAND'], ...rows];
}
