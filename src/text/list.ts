/** Lists: of loops, the workers of document 003, worktrees and agents. A table has its head as the first row. */
import { counted, ofLimit } from '../loop/counted.ts';
import type { FamilyCount } from '../loop/event.ts';
import { costOfLimit, type LimitUse } from '../loop/limit-use.ts';
import { planCount } from '../loop/plan.ts';
import type { LoopReading } from '../store/read-loop.ts';
import type { Spec } from '../store/spec.ts';
import type { LoopSummary } from '../loops/summary.ts';
import type { AgentSurvey } from '../surroundings/survey.ts';
import type { WorkerRecord } from '../loops/worker-record.ts';
import type { WorktreeSummary } from '../loops/worktrees.ts';

/** The list of `ralph ls`, below its head; columns that no loop needs are left out. */
export function loopTable(rows: readonly LoopRow[], withWorkspace: boolean): readonly (readonly string[])[] {
  const withCost = rows.some(({ cost }) => cost !== null);
  const withPlan = rows.some(({ plan }) => plan !== null);
  const withTags = rows.some(({ tags }) => tags !== null);
  const lineOf = (row: LoopRow): readonly string[] => [
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

const HEAD: LoopRow = {
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
export interface LoopRow {
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

/** The row of a loop; `level` indents its name. */
export function rowOf(loop: LoopReading, summary: LoopSummary, level: number): LoopRow {
  const {
    name,
    status,
    iterations,
    iterationLimit,
    owner,
    workspace,
    reason,
    waiting,
    warning,
    limits,
    family,
  } = summary;
  const { plan } = loop.report;
  const { tags = [] } = loop.spec;
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
  readonly loop: LoopReading;
  /** How many of its ancestors are listed above it. */
  readonly level: number;
}

/** The order of a list: each loop followed by its child loops. A loop whose parent is not in the list comes first, like one without a parent. */
export function inTree(
  loops: readonly LoopReading[],
  parentOf: (spec: Spec) => string | null,
): readonly ListedLoop[] {
  const listed = new Set(loops.map(({ spec }) => spec.id));
  const children = new Map<string | null, LoopReading[]>();
  for (const loop of loops) {
    const named = parentOf(loop.spec);
    const parent = named !== null && listed.has(named) ? named : null;
    children.set(parent, [...(children.get(parent) ?? []), loop]);
  }
  const found: ListedLoop[] = [];
  const add = (parent: string | null, level: number): void => {
    for (const loop of children.get(parent) ?? []) {
      found.push({ loop, level });
      add(loop.spec.id, level + 1);
    }
  };
  add(null, 0);
  // Two specs that name each other are below nothing.
  const shown = new Set(found.map(({ loop }) => loop));
  const others = loops.filter((loop) => !shown.has(loop));
  return found.concat(others.map((loop) => ({ loop, level: 0 })));
}

/** The workers as the list of document 003 shows them, below its head. */
export function workerTable(workers: readonly ListedWorker[], now: number): readonly (readonly string[])[] {
  const rows = workers.map(({ name, status, pid, window, startedAt, worktree, tags }) => [
    name,
    status,
    window ?? (pid === null ? '-' : String(pid)),
    startedAt === null ? '-' : age(now - startedAt),
    worktree?.path ?? '-',
    tags.length === 0 ? '-' : tags.join(','),
  ]);
  return [['NAME', 'STATUS', 'PID/WINDOW', 'STARTED', 'WORKTREE', 'TAG'], ...rows];
}

export type ListedWorker = Pick<WorkerRecord, 'name' | 'status' | 'pid' | 'window' | 'worktree' | 'tags'> & {
  readonly startedAt: number | null;
};

/** The largest unit alone: `45s`, `15m`, `6h`, `3d`. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
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
