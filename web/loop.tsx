import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { LoopFacts } from '../src/loops/facts.ts';
import type { IterationPoint } from '../src/loops/night.ts';
import type { LoopRow } from '../src/loops/list.ts';
import type { LoopView } from '../src/loops/loops.ts';
import { duration } from '../src/loop/counted.ts';
import { cellsOf } from '../src/text/list.ts';
import { statusText } from '../src/text/status.ts';
import { timeLeft } from '../src/text/waits.ts';
import { type WhyLine, whyOpen } from '../src/text/why-open.ts';
import { Actions } from './actions.tsx';
import { ask } from './api.ts';
import { Diff } from './diff.tsx';
import { SaveReport } from './save-report.tsx';
import { shown } from './shown.ts';
import { Plots } from './plots.tsx';
import { Stream } from './stream.tsx';
import { useAnswer, useLoop, useNow, type Answered } from './use.ts';

/** A loop: what it needs, why it is not done, its iterations, and what its agent does. */
export function Loop({ row, isReadOnly }: { readonly row: LoopRow; readonly isReadOnly: boolean }) {
  const { view, told, skipped, trouble } = useLoop(row);
  const now = useNow();
  const about = view === null ? null : stepOf(view);
  const { id, name, workspace } = row;
  const facts = useAnswer<LoopFacts>(
    (signal) =>
      ask(
        'facts',
        [
          { id, name, workspace },
          { since: 0, countsTests: false },
        ],
        signal,
      ),
    [about],
  );
  const known = facts.is === 'answered' ? facts.value : null;
  const cells = cellsOf(row, 0, Infinity, now);
  const why = view === null || view.summary.status === 'done' ? [] : whyOpen(view, known);
  return (
    <>
      <h1>
        {shown(name)} <small>{shown(cells.state)}</small>
      </h1>
      <p class="note">
        {shown([workspace, cells.branch, cells.agent].filter((part) => part !== '').join(' · '))}
      </p>
      <p class="task">{shown(cells.task)}</p>
      <dl class="figures">
        {figure('iteration', cells.iterations)}
        {figure('checks', cells.checks)}
        {figure('cost', cells.cost)}
        {figure('plan', cells.plan)}
        {figure('age', cells.age)}
        {view?.doing !== null && view?.doing !== undefined
          ? figure('now', `${shown(view.doing.what)} · ${duration(Math.max(0, now - view.doing.since), ' ')}`)
          : null}
        {figure('waiting', shown((view === null ? null : timeLeft(view.state, now)) ?? row.waiting ?? ''))}
      </dl>
      {trouble !== null && <p class="red">{shown(trouble)}</p>}
      {view !== null && !isReadOnly && <Actions view={view} told={told} />}
      {view !== null && isReadOnly && (
        <p class="note">This page is read-only. To change loops, start ralph ui without --read-only.</p>
      )}
      {why.length > 0 && (
        <section aria-labelledby="why">
          <h2 id="why">Why it is not done</h2>
          <ul class="why">
            {byHeading(why).map(({ title, below }) => (
              <li key={title}>
                {shown(title)}
                {below !== '' && <pre tabIndex={0}>{shown(below)}</pre>}
              </li>
            ))}
          </ul>
        </section>
      )}
      <section aria-labelledby="iterations">
        <h2 id="iterations">Iterations</h2>
        <Strip id={id} facts={facts} />
        {known !== null && <Plots points={known.night?.points ?? []} limits={row.limits} />}
      </section>
      <section aria-labelledby="stream">
        <h2 id="stream">What the agent does</h2>
        <Stream
          told={told}
          skipped={skipped}
          none={
            row.owner === null
              ? 'No agent runs. What it did is with each iteration.'
              : 'The agent has said nothing yet.'
          }
        />
      </section>
      <Unfolded title="What it has changed in all">
        {() => <Diff loop={row} what={null} special={known?.changes?.files ?? []} />}
      </Unfolded>
      <SaveReport loop={row} />
      {view !== null && (
        <details>
          <summary>Everything that ralph status says</summary>
          <pre tabIndex={0}>{shown(statusText(view, { home: undefined, now }))}</pre>
        </details>
      )}
    </>
  );
}

/** Makes what is inside once a person wants to see it. */
function Unfolded({
  title,
  children,
}: {
  readonly title: string;
  readonly children: () => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children()}
    </details>
  );
}

/** Each heading with the lines below it. */
function byHeading(lines: readonly WhyLine[]): readonly { readonly title: string; readonly below: string }[] {
  const starts = lines.flatMap(({ as }, at) => (as === 'heading' || at === 0 ? [at] : []));
  return starts.map((start, index) => {
    const [first, ...rest] = lines.slice(start, starts[index + 1]);
    return { title: first?.text ?? '', below: rest.map(({ text }) => text).join('\n') };
  });
}

function figure(label: string, text: string) {
  if (text === '') return null;
  return (
    <div key={label}>
      <dt>{label}</dt>
      <dd>{text}</dd>
    </div>
  );
}

/** When the facts of a loop are other ones: not with every line of its agent. */
function stepOf({ state, report, summary }: LoopView): string {
  const { turn, iteration } = state;
  const checks = report.checks.map(({ result }) => result.code).join();
  return JSON.stringify([
    iteration,
    summary.status,
    turn.run?.ended?.as,
    checks,
    report.rejectedClaims,
    report.commits,
  ]);
}

/** The iterations as a strip; each leads to its page. */
function Strip({ id, facts }: { readonly id: string; readonly facts: Answered<LoopFacts> }) {
  if (facts.is === 'failed') return <p class="red">{shown(facts.why)}</p>;
  if (facts.is === 'asked') return <p class="note">Loading …</p>;
  const points = facts.value.night?.points ?? [];
  if (points.length === 0) return <p class="note">It has not started one.</p>;
  return (
    <ol class="strip">
      {points.map((point) => (
        <li key={point.iteration}>
          <a class={HOW[point.how].colour} href={`#/loop/${id}/${point.iteration}`}>
            {point.iteration}
            <span>{`${HOW[point.how].word} · ${duration(point.durationMs)}`}</span>
          </a>
        </li>
      ))}
    </ol>
  );
}

const HOW: Readonly<Record<IterationPoint['how'], { readonly word: string; readonly colour: string }>> = {
  passed: { word: 'green', colour: 'green' },
  failing: { word: 'red', colour: 'red' },
  failed: { word: 'failed', colour: 'red' },
  limit: { word: 'limit', colour: 'yellow' },
  unchanged: { word: 'no change', colour: 'yellow' },
  unchecked: { word: 'no checks', colour: '' },
};
