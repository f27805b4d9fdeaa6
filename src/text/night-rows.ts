/** The rows of a report about what a loop did while no person watched it. */
import type { ChangedFile, ChangedFiles, FileKind } from '../loops/changed-files.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { Night, Rejection } from '../loops/night.ts';
import { counted, duration } from '../loop/counted.ts';
import { limitUse } from '../loop/limit-use.ts';
import { costText } from '../loop/report.ts';
import { brief, visible } from './one-line.ts';
import { localMinute } from './times.ts';

/** A label and its text; without a label the row continues the one above. */
export type Row = readonly [string, string];

/** A label before the first of several texts. */
function rows(label: string, texts: readonly string[]): readonly Row[] {
  return texts.map((text, index) => [index === 0 ? label : '', text]);
}

/** Texts in one row; none without a text. */
function listRow(label: string, texts: readonly string[]): readonly Row[] {
  return texts.length === 0 ? [] : [[label, texts.join(', ')]];
}

/** Which part of the loop the lists are about. */
export function sinceRows({ since, night }: LoopFacts): readonly Row[] {
  if (since === 0 || night === null) return [];
  const { iterations, costUsd, runsOfUnknownCost, commits, runs } = night;
  const parts = [
    counted(iterations, 'iteration'),
    ...(runs === 0 ? [] : [costText(costUsd ?? 0, costUsd !== null && runsOfUnknownCost === 0)]),
    ...(commits === 0 ? [] : [counted(commits, 'commit')]),
  ];
  return [['since', `${localMinute(since)}: ${parts.join(', ')}`]];
}

/** How many checks pass, and how many passed before the loop. */
export function checkCountRows({ checks }: LoopFacts): readonly Row[] {
  const run = checks.filter(({ after }) => after !== null);
  if (run.length === 0) return [];
  const passed = run.filter(({ after }) => after === true).length;
  const wereRun = checks.filter(({ before }) => before !== null);
  const before = wereRun.filter((one) => one.before === true).length;
  const then = wereRun.length === 0 ? '' : `; before the loop ${before} of ${wereRun.length}`;
  return [['checks', `${passed} of ${checks.length} ${passed === 1 ? 'passes' : 'pass'}${then}`]];
}

/** The iterations in which claims were rejected, and what contradicted them. */
export function rejectionRows({ night }: LoopFacts): readonly Row[] {
  if (night === null) return [];
  const shown = night.rejections.slice(-MOST_REJECTIONS);
  const earlier = night.rejectedClaims - shown.length;
  return rows('', [...(earlier > 0 ? [`${earlier} earlier`] : []), ...shown.map(rejectionText)]);
}

function rejectionText({ iteration, because, failed, files }: Rejection): string {
  const why =
    because === 'protected-change'
      ? `changed: ${files.length === 0 ? 'protected files' : files.map(visible).join(', ')}`
      : `failed: ${failed.map(brief).join(', ')}`;
  return `iteration ${iteration}, ${why}`;
}

const MOST_REJECTIONS = 3;

/** The last commits, as a list. */
export function commitTexts({ night }: LoopFacts): readonly string[] {
  return (night?.lastCommits ?? []).map(({ commit, subject, files }) => {
    const size = files === null ? '' : ` (${counted(files, 'file')})`;
    return `${commit.slice(0, 7)}${subject === null ? '' : ` ${brief(visible(subject))}`}${size}`;
  });
}

/** The changed files: how many, and the first few. */
export function changeRows({ changes, name }: LoopFacts): readonly Row[] {
  if (changes === null || changes.count === 0) return [];
  const { files, count } = changes;
  const shown = files.slice(0, count <= MOST_FILES + 1 ? MOST_FILES + 1 : MOST_FILES);
  const more = count - shown.length;
  return rows('changed', [
    `${changesText(changes)} (ralph diff ${name})`,
    ...shown.map(fileText),
    ...(more > 0 ? [`and ${counted(more, 'more file')}`] : []),
  ]);
}

const MOST_FILES = 3;

/** `5 files, +120 -14: 2 tests, 1 configuration file`. */
function changesText({ count, added, removed, kinds }: ChangedFiles): string {
  const special = KINDS.flatMap(([kind, noun, plural]) =>
    kinds[kind] === 0 ? [] : [counted(kinds[kind], noun, plural)],
  );
  return `${counted(count, 'file')}, +${added} -${removed}${special.length === 0 ? '' : `: ${special.join(', ')}`}`;
}

const KINDS: readonly (readonly [FileKind, string, string?])[] = [
  ['protected', 'protected file'],
  ['check', 'file that a check runs', 'files that checks run'],
  ['test', 'test'],
  ['configuration', 'configuration file'],
];

export function fileText({ path, kind, added, removed, as }: ChangedFile): string {
  const lines = added === null || removed === null ? 'binary' : `+${added} -${removed}`;
  const notes = [...(as === 'other' ? [] : [as]), ...(kind === 'changed' ? [] : [kind])];
  return `${lines} ${visible(path)}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`;
}

/** Waits that were not the loop's own delay, and times without a process. */
export function waitRows({ night, waiting }: LoopFacts): readonly Row[] {
  return [
    ...(waiting === null ? [] : [['waiting', waiting] as const]),
    ...(night === null ? [] : pastWaits(night)),
  ];
}

function pastWaits({ waits, crashes }: Night): readonly Row[] {
  const texts = waits
    .filter(({ why }) => why !== 'delay')
    .map(
      ({ why, count, ms }) => `${duration(ms, ' ')} ${WAITED[why]}${count === 1 ? '' : ` (${count} times)`}`,
    );
  const { count, ms } = crashes;
  const crashed = `${counted(count, 'time')}, ${duration(ms, ' ')} without a process`;
  return [...listRow('waited', texts), ...listRow('crashed', count === 0 ? [] : [crashed])];
}

const WAITED: Readonly<Record<Night['waits'][number]['why'], string>> = {
  'usage-limit': 'for usage limits',
  outage: 'for the provider',
  backoff: 'after failed runs',
  delay: 'between iterations',
  answer: 'for answers',
};

/** The questions of the agent, and what answered them. */
export function questionRows({ night, questions }: LoopFacts): readonly Row[] {
  if (night === null) return [];
  const earlier = night.asked - night.questions.length;
  const texts = night.questions.map(({ text, answer, by }) => {
    const shown = `"${visible(text)}"`;
    if (by === null) return `${shown}, without an answer`;
    return by === 'person'
      ? `${shown}, answered: "${visible(answer ?? '')}"`
      : `${shown}, its default applied: "${visible(answer ?? '')}"`;
  });
  const all = [...(earlier > 0 ? [`${earlier} earlier`] : []), ...texts];
  // Those from before the night are open all the same.
  const older = questions.filter(({ id }) => !night.questions.some((one) => one.id === id));
  return rows('questions', [...all, ...older.map(({ text }) => `"${visible(text)}", without an answer`)]);
}

/** What is used of the limits, and which runs and children have cost most. */
export function spendRows({ limits, night, children, agent, end }: LoopFacts): readonly Row[] {
  const used = limits.map((use) => {
    const percent = use.used === null ? '' : ` (${Math.floor((use.used / use.of) * 100 + 1e-6)} %)`;
    return `${limitUse(use)}${percent}`;
  });
  const runs = (night?.dearestRuns ?? []).map(
    (one) => `${one.run} ${dollars(one.usd)} (${duration(one.durationMs, ' ')})`,
  );
  const ofChildren = children.flatMap(({ agent: other, name, costUsd }) =>
    costUsd === null || costUsd === 0 ? [] : [`${agentText(other)} in ${name} ${dollars(costUsd)}`],
  );
  const own = `${agentText(agent)} ${end.costUsd === null ? 'unknown' : dollars(end.costUsd)}`;
  return [
    ...listRow('used', used),
    ...listRow('by run', runs.length < 2 ? [] : runs.slice(0, MOST_RUNS)),
    ...listRow('by agent', ofChildren.length === 0 ? [] : [own, ...ofChildren]),
  ];
}

const MOST_RUNS = 3;

function dollars(usd: number): string {
  return `$${usd.toFixed(4)}`;
}

function agentText(agent: LoopFacts['agent']): string {
  if (agent === null) return 'unknown agent';
  return agent.model === null ? visible(agent.name) : `${visible(agent.name)} ${visible(agent.model)}`;
}
