/** Lists: of loops, worktrees and agents, and what is said below them. A table has its head as the first row. */
import { counted, ofLimit, shortList } from '../loop/counted.ts';
import type { FamilyCount } from '../loop/event.ts';
import { costOfLimit, type LimitUse } from '../loop/limit-use.ts';
import { planCount } from '../loop/plan.ts';
import { shellQuote } from '../loop/shell-quote.ts';
import type { LoopRow, Strays } from '../loops/list.ts';
import type { AgentSurvey } from '../surroundings/survey.ts';
import type { WorktreeSummary } from '../loops/worktrees.ts';

/** The list of `ralph ls`, below its head; columns that no loop needs are left out. */
export function loopTable(
  loops: readonly ListedLoop[],
  withWorkspace: boolean,
): readonly (readonly string[])[] {
  const rows = loops.map(({ row, level }) => cellsOf(row, level));
  const withCost = rows.some(({ cost }) => cost !== null);
  const withPlan = rows.some(({ plan }) => plan !== null);
  const withTags = rows.some(({ tags }) => tags !== null);
  const lineOf = (row: Cells): readonly string[] => [
    row.name,
    row.status,
    row.iterations,
    ...(withCost ? [row.cost ?? '-'] : []),
    ...(withPlan ? [row.plan ?? '-'] : []),
    row.owner,
    ...(withTags ? [row.tags ?? ''] : []),
    ...(withWorkspace ? [row.workspace] : []),
    row.reason,
  ];
  return [HEAD, ...rows].map(lineOf);
}

const HEAD: Cells = {
  name: 'NAME',
  status: 'STATUS',
  iterations: 'ITERATION',
  cost: 'COST',
  plan: 'PLAN',
  owner: 'OWNER',
  tags: 'TAG',
  workspace: 'WORKSPACE',
  reason: 'REASON',
};

/** The cells of one line. */
interface Cells {
  readonly name: string;
  readonly status: string;
  readonly iterations: string;
  /** What is used of the limit on cost, and what of it by children; null if there is neither. */
  readonly cost: string | null;
  /** Null without a plan. */
  readonly plan: string | null;
  readonly owner: string;
  /** Null without tags. */
  readonly tags: string | null;
  readonly workspace: string;
  readonly reason: string;
}

/** `level` indents the name. */
function cellsOf(row: LoopRow, level: number): Cells {
  const { name, status, iterations, iterationLimit, owner, workspace, reason, waiting, warning } = row;
  const { limits, family, tags = [] } = row;
  const { plan } = row.record;
  return {
    name: `${'  '.repeat(level)}${name}`,
    status,
    iterations: ofLimit(iterations, iterationLimit),
    cost: costCell(limits, family?.below ?? null),
    plan: plan === null ? null : planCount(plan),
    owner: owner === null ? '-' : String(owner),
    tags: tags.length === 0 ? null : tags.join(','),
    workspace,
    reason: [waiting === null ? (reason ?? []) : `waiting: ${waiting}`, warning ?? []].flat().join('; '),
  };
}

/** What is used of the limit on cost, and what of it by children; null if there is neither. */
function costCell(limits: readonly LimitUse[], below: FamilyCount['below'] | null): string | null {
  const used = costOfLimit(limits);
  if (below === null || below.usd === 0) return used;
  const theirs = `$${below.usd.toFixed(2)} by ${counted(below.loops, 'child', 'children')}`;
  return used === null ? theirs : `${used}, of it ${theirs}`;
}

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
export function agentTable(agents: readonly AgentSurvey[]): readonly (readonly string[])[] {
  const rows = agents.map(({ name, path, version, triedVersion, tells, calledAs, install }) => [
    name,
    path === null ? 'no' : (version ?? 'yes'),
    triedVersion,
    tells === 'cost' ? 'cost' : 'tokens',
    path === null ? `install with: ${install}` : calledAs,
  ]);
  return [['AGENT', 'INSTALLED', 'TESTED WITH', 'REPORTS', 'COMMAND'], ...rows];
}
