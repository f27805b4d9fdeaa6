/**
 * The report of loops as one file of HTML that needs nothing else.
 *
 * 1. It has no script, and a policy that forbids every request, so that it can be opened and sent on without a thought.
 * 2. All words are text: agents, checks and repositories write many of them.
 */
import type { LoopFacts } from '../loops/facts.ts';
import type { IterationPoint } from '../loops/night.ts';
import { duration } from '../loop/counted.ts';
import { escapeHtml } from './escape-html.ts';
import { needsPerson } from './look-first.ts';
import { commitTexts, fileText } from './night-rows.ts';
import { plotSvg } from './plot.ts';
import { summaryRows } from './summary.ts';
import { localTime } from './times.ts';

interface Beside {
  /** Above the loops; null for one loop. */
  readonly heading: string | null;
  readonly home: string | undefined;
  readonly madeAt: number;
  /** SHA-256 of `REPORT_STYLE` in base64. */
  readonly styleHash: string;
}

export function htmlReport(
  facts: readonly LoopFacts[],
  { heading, home, madeAt, styleHash }: Beside,
): string {
  const title = heading ?? `Ralph loop ${facts[0]?.name ?? ''}`;
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${policyWith(styleHash)}">`,
    '<meta name="referrer" content="no-referrer">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escapeHtml(title)}</title>`,
    `<style>${REPORT_STYLE}</style>`,
    '</head>',
    '<body>',
    `<h1>${escapeHtml(title)}</h1>`,
    ...facts.map((one) => articleOf(one, home)),
    `<footer>made by ralph report at ${escapeHtml(localTime(madeAt).replace('T', ' '))}</footer>`,
    '</body>',
    '</html>',
    '',
  ].join('\n');
}

function articleOf(facts: LoopFacts, home: string | undefined): string {
  const { name, status, workspace, changes, night } = facts;
  const kind = status === 'done' ? 'good' : needsPerson(facts) ? 'bad' : 'open';
  const rows = summaryRows(facts, { home }).map(
    ([label, text]) => `<tr><th scope="row">${escapeHtml(label)}</th><td>${escapeHtml(text)}</td></tr>`,
  );
  return [
    `<article class="${kind}">`,
    `<h2>${escapeHtml(name)} <strong>${escapeHtml(status)}</strong></h2>`,
    `<p>${escapeHtml(workspace)}</p>`,
    `<table>${rows.join('\n')}</table>`,
    plotsOf(night?.points ?? []),
    ...listOf('changed files', (changes?.files ?? []).map(fileText)),
    ...listOf('last commits', commitTexts(facts)),
    '</article>',
  ].join('\n');
}

function plotsOf(points: readonly IterationPoint[]): string {
  // One bar says nothing that the table does not say.
  if (points.length < 2) return '';
  const of = (valueOf: (point: IterationPoint) => number | null): Parameters<typeof plotSvg>[0]['points'] =>
    points.map((point) => ({ iteration: point.iteration, value: valueOf(point) }));
  const knowsTests = points.some(({ failingTests }) => failingTests !== null);
  const failing = knowsTests ? testsOf : checksOf;
  const plots = [
    plotSvg({ title: 'cost', points: of(({ costUsd }) => costUsd), format: (usd) => `$${usd.toFixed(2)}` }),
    plotSvg({ title: knowsTests ? 'failing tests' : 'failing checks', points: of(failing), format: String }),
    plotSvg({ title: 'duration', points: of(({ durationMs }) => durationMs), format: (ms) => duration(ms) }),
  ];
  return `<div>${plots.join('')}</div>`;
}

function listOf(title: string, items: readonly string[]): readonly string[] {
  if (items.length === 0) return [];
  const list = items.map((item) => `<li>${escapeHtml(item)}</li>`);
  return [`<details><summary>${title}</summary><ul>`, ...list, '</ul></details>'];
}

/** A failing check whose output names no test leaves a gap. */
function testsOf({ checks, failingChecks, failingTests }: IterationPoint): number | null {
  return checks > 0 && failingChecks === 0 ? 0 : failingTests;
}

function checksOf({ checks, failingChecks }: IterationPoint): number | null {
  return checks === 0 ? null : failingChecks;
}

export const REPORT_STYLE: string = [
  ':root{color-scheme:light dark;--back:#fff;--text:#1c1e21;--dim:#5f6670;--line:#d7dbe0;--good:#1a7f37;--bad:#b3261e;--bar:#3b6fb5}',
  '@media(prefers-color-scheme:dark){:root{--back:#14161a;--text:#e4e6ea;--dim:#9aa2ad;--line:#343941;--good:#57c26f;--bad:#f2837b;--bar:#7fa8e0}}',
  'body{background:var(--back);color:var(--text);font:15px/1.45 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}',
  'h1{font-size:1.3rem}h2{font-size:1.1rem;margin:0}p,footer,th{color:var(--dim)}p{margin:0 0 .5rem}',
  'article{border:1px solid var(--line);border-left-width:6px;border-radius:6px;padding:1rem;margin:1rem 0}',
  'article.good{border-left-color:var(--good)}article.bad{border-left-color:var(--bad)}',
  '.good strong{color:var(--good)}.bad strong{color:var(--bad)}',
  'table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:normal;vertical-align:top;padding:.1rem 1rem .1rem 0;white-space:nowrap}',
  'td{overflow-wrap:anywhere;white-space:pre-wrap;width:100%}li{overflow-wrap:anywhere}',
  'div{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:1rem 0 0;flex:1 1 16rem}figcaption{color:var(--dim)}',
  'svg{width:100%;height:auto}svg text{fill:var(--dim);font-size:9px}rect{fill:var(--bar)}line{stroke:var(--line)}',
].join('\n');

/** Nothing is loaded, run or sent; only this style applies. */
function policyWith(styleHash: string): string {
  return `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'`;
}
