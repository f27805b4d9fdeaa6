import type { LoopFacts } from '../src/loops/facts.ts';
import type { LoopRow } from '../src/loops/list.ts';
import type { LoopRef } from '../src/loops/loops.ts';
import type { Mark, Page, Told } from '../src/loops/events.ts';
import type { RunOf } from '../src/loops/output.ts';
import { duration } from '../src/loop/counted.ts';
import { costText } from '../src/loop/report.ts';
import { runHeading } from '../src/text/agent-lines.ts';
import { ask } from './api.ts';
import { Diff } from './diff.tsx';
import { Log } from './log.tsx';
import { Rewind } from './rewind.tsx';
import { shown } from './shown.ts';
import { Stream } from './stream.tsx';
import { useAnswer, useLoop } from './use.ts';

/** An iteration: its prompt as it was sent, what its agent did, its checks with their logs, what it changed, and what it cost. */
export function Iteration({
  row,
  iteration,
  isReadOnly,
}: {
  readonly row: LoopRow;
  readonly iteration: number;
  readonly isReadOnly: boolean;
}) {
  const { id, name, workspace } = row;
  const loop = { id, name, workspace };
  const { view, told } = useLoop(loop);
  const isOpen = view?.state.iteration === iteration && view.state.outcome === null;
  const step = isOpen ? JSON.stringify([view.state.turn.run?.id, view.report.checks.length]) : '';
  const runs = useAnswer<readonly RunOf[]>((signal) => ask('runs', [loop], signal), [id, step]);
  const facts = useAnswer<LoopFacts>(
    (signal) => ask('facts', [loop, { since: 0, countsTests: true }], signal),
    [id, step],
  );
  const own =
    runs.is === 'answered' ? runs.value.filter(({ run }) => run.split('.')[0] === String(iteration)) : [];
  const point =
    facts.is === 'answered'
      ? facts.value.night?.points.find((one) => one.iteration === iteration)
      : undefined;
  const special = facts.is === 'answered' ? (facts.value.changes?.files ?? []) : [];
  return (
    <>
      <nav class="crumbs" aria-label="Iterations">
        <a href={`#/loop/${id}`}>{shown(name)}</a>
        {iteration > 1 && <a href={`#/loop/${id}/${iteration - 1}`}>‹ {iteration - 1}</a>}
        {iteration < row.worker.iteration && <a href={`#/loop/${id}/${iteration + 1}`}>{iteration + 1} ›</a>}
      </nav>
      <h1>{`Iteration ${iteration}`}</h1>
      {point !== undefined && (
        <p class="note">
          {[
            duration(point.durationMs, ' '),
            `cost ${costText(point.costUsd ?? 0, point.costUsd !== null)}`,
            ...(point.checks === 0
              ? []
              : [`${point.checks - point.failingChecks} of ${point.checks} checks pass`]),
            ...(point.failingTests === null ? [] : [`failing tests: ${point.failingTests}`]),
            ...(point.claim === 'none' ? [] : [`claim ${point.claim}`]),
          ].join(' · ')}
        </p>
      )}
      {runs.is === 'failed' && <p class="red">{shown(runs.why)}</p>}
      {runs.is === 'answered' && own.length === 0 && <p class="note">There is no run of this iteration.</p>}
      {own.map((run) => (
        <section key={run.run} aria-label={`run ${run.run}`}>
          <h2>{runHeading(run.run, run.startedAt, run.endedAt).replace('=== ', '')}</h2>
          <details>
            <summary>Prompt as it was sent</summary>
            <Log
              label={`prompt of run ${run.run}`}
              read={(range, signal) => ask('output', [loop, run.run, 'prompt', range], signal)}
            />
          </details>
          {run.endedAt === null && isOpen ? (
            <Stream
              told={told.filter((one) => one.is === 'agent' && one.run === run.run)}
              skipped={0}
              none="The agent has said nothing yet."
            />
          ) : (
            <Recorded loop={loop} run={run.run} />
          )}
          {run.checks.map((check) => (
            <details key={check}>
              <summary>{`Check ${check}`}</summary>
              <Log
                label={`log of check ${check}`}
                read={(range, signal) => ask('output', [loop, run.run, { check }, range], signal)}
              />
            </details>
          ))}
          <details>
            <summary>Errors of the agent (stderr)</summary>
            <Log
              label={`stderr of run ${run.run}`}
              read={(range, signal) => ask('output', [loop, run.run, 'stderr', range], signal)}
            />
          </details>
        </section>
      ))}
      <section aria-labelledby="changes">
        <h2 id="changes">What it changed</h2>
        {isOpen ? (
          <p class="note">The iteration has not ended.</p>
        ) : (
          <>
            <Diff loop={loop} what={String(iteration)} special={special} />
            {!isReadOnly && <Rewind loop={loop} iteration={iteration} />}
          </>
        )}
      </section>
    </>
  );
}

/** What the agent of an ended run did, the first part of it. */
function Recorded({ loop, run }: { readonly loop: LoopRef; readonly run: string }) {
  const answer = useAnswer<{ readonly told: readonly Told[]; readonly isWhole: boolean }>(
    async (signal) => {
      const told: Told[] = [];
      let from: Mark | null = null;
      for (let pages = 0; pages < MOST_PAGES; pages++) {
        // oxlint-disable-next-line no-await-in-loop -- one page after the other
        const page: Page = await ask('events', [loop, { from, agent: true, run }], signal);
        told.push(...page.told);
        if (page.after !== 'more') return { told, isWhole: true };
        from = page.next;
      }
      return { told, isWhole: false };
    },
    [loop.id, run],
  );
  if (answer.is === 'failed') return <p class="red">{shown(answer.why)}</p>;
  if (answer.is === 'asked') return <p class="note">Loading …</p>;
  const { told, isWhole } = answer.value;
  return (
    <>
      <Stream told={told} skipped={0} none="The agent said nothing." />
      {!isWhole && (
        <p class="note">
          The run printed more. See all of it with <code>{`ralph logs ${loop.name} --run ${run}`}</code>.
        </p>
      )}
    </>
  );
}

/** Of 256 KB each. */
const MOST_PAGES = 8;
