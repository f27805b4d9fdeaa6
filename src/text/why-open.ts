/** Why a loop is not done: what fails, since when, and which claims that has contradicted. */
import { failureLines } from '../loop/failures-text.ts';
import { FailureScan } from '../loop/failures.ts';
import { howItFailed } from '../loop/exit-code.ts';
import type { LoopFacts } from '../loops/facts.ts';
import type { LoopView } from '../loops/loops.ts';
import { brief, visible } from './one-line.ts';
import { failingSince, rejectionText } from './status.ts';
import { sanitize } from './terminal.ts';

export interface WhyLine {
  readonly as: 'heading' | 'test' | 'output' | 'text';
  readonly text: string;
}

/** The lines that say it, the most important first; those of a loop that is done say so. */
export function whyOpen(view: LoopView, facts: Pick<LoopFacts, 'checks'> | null): readonly WhyLine[] {
  const lines = knownReasons(view, facts);
  if (lines.length > 0) return lines;
  const { iteration } = view.state;
  const where = iteration === 0 ? 'the first iteration has not started' : `iteration ${iteration} runs`;
  return [{ as: 'heading', text: `${where}; no check has run yet` }];
}

function knownReasons(
  { summary, state, report }: LoopView,
  facts: Pick<LoopFacts, 'checks'> | null,
): readonly WhyLine[] {
  const { reason, waiting, warning, next } = summary;
  const questions = state.questions.flatMap((one) => [
    heading('the agent asks'),
    ...one.text.split('\n').map(plain),
  ]);
  const checks = report.checks.flatMap(({ command, result }): readonly WhyLine[] => {
    if (result.code === 0) return [];
    const printed = facts?.checks.find((one) => one.command === command)?.output ?? null;
    const since = failingSince(command, report);
    return [
      heading(`${visible(brief(command))} fails (${howItFailed(result)}${since})`),
      ...(printed === null ? [] : outputLines(printed)),
      plain(`log: ${result.log}`),
    ];
  });
  const rejected =
    report.rejectedClaims === 0
      ? []
      : [
          heading(
            `the agent has claimed to be done ${report.rejectedClaims === 1 ? 'once' : `${report.rejectedClaims} times`}, and was rejected${rejectionText(report)}`,
          ),
        ];
  const stands =
    state.outcome?.type === 'done'
      ? [heading('it is done')]
      : [
          ...(reason === null ? [] : [heading(visible(reason))]),
          ...(waiting === null ? [] : [heading(`waiting: ${visible(waiting)}`)]),
        ];
  const passes =
    report.checks.length > 0 && checks.length === 0 && state.outcome === null
      ? [heading('every check passes; the agent has not claimed to be done')]
      : [];
  return [
    ...questions,
    ...stands,
    ...rejected,
    ...checks,
    ...passes,
    ...(warning === undefined ? [] : [plain(warning)]),
    ...(next === null ? [] : [plain(`next: ${next}`)]),
  ];
}

function heading(text: string): WhyLine {
  return { as: 'heading', text };
}

function plain(line: string): WhyLine {
  return { as: 'text', text: visible(line) };
}

/** The failing tests by their names, then what was printed last. */
function outputLines(printed: string): readonly WhyLine[] {
  const lines = sanitize(printed, false)
    .split('\n')
    .map((line) => line.replaceAll('\t', '  ').trimEnd())
    .filter((line) => line !== '');
  const scan = new FailureScan();
  for (const line of lines) scan.take(line);
  const failures = scan.end((one) => one);
  const tests = failures === null ? [] : failureLines(failures, MOST_TESTS);
  return [
    ...tests.map((text): WhyLine => ({ as: 'test', text })),
    ...lines.slice(-MOST_LINES).map((text): WhyLine => ({ as: 'output', text })),
  ];
}

const MOST_TESTS = 20;
const MOST_LINES = 12;
