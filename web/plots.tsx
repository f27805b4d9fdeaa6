import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import type { LimitUse } from '../src/loop/limit-use.ts';
import type { IterationPoint } from '../src/loops/night.ts';
import { duration } from '../src/loop/counted.ts';

/** What the iterations have cost, how many tests failed, and how long they took. */
export function Plots({
  points,
  limits,
}: {
  readonly points: readonly IterationPoint[];
  readonly limits: readonly LimitUse[];
}) {
  // One point says nothing that the strip does not say.
  if (points.length < 2) return null;
  const at = points.map(({ iteration }) => iteration);
  const costs = points.map(({ costUsd }) => costUsd);
  const limit = limits.find((one) => one.limit === 'costUsd');
  const sums = sumsUpTo(costs, limit?.used ?? null);
  const knowsTests = points.some(({ failingTests }) => failingTests !== null);
  const failing = points.map((point) => (knowsTests ? testsOf(point) : checksOf(point)));
  const durations = points.map(({ durationMs }) => durationMs / 1000);
  return (
    <div class="plots">
      <Plot title="cost per iteration" at={at} values={costs} format={dollars} />
      <Plot
        title={limit === undefined ? 'cost in sum' : `cost in sum, limit ${dollars(limit.of)}`}
        at={at}
        values={sums}
        format={dollars}
        line={limit?.of ?? null}
      />
      <Plot
        title={knowsTests ? 'failing tests' : 'failing checks'}
        at={at}
        values={failing}
        format={String}
        isWhole
      />
      <Plot title="duration" at={at} values={durations} format={(value) => duration(value * 1000)} isWhole />
    </div>
  );
}

function dollars(value: number): string {
  return `$${value.toFixed(2)}`;
}

/** The sums end at what the loop has used, if that is known: earlier iterations may not be among the points. */
function sumsUpTo(costs: readonly (number | null)[], used: number | null): readonly (number | null)[] {
  const known = costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
  let sum = Math.max(0, (used ?? known) - known);
  return costs.map((cost) => (cost === null ? null : (sum += cost)));
}

function testsOf({ checks, failingChecks, failingTests }: IterationPoint): number | null {
  return checks > 0 && failingChecks === 0 ? 0 : failingTests;
}

function checksOf({ checks, failingChecks }: IterationPoint): number | null {
  return checks === 0 ? null : failingChecks;
}

/** Between the marks of an axis, also of seconds. */
const WHOLE = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 18_000];

function Plot({
  title,
  at,
  values,
  format,
  isWhole = false,
  line = null,
}: {
  readonly title: string;
  readonly at: readonly number[];
  readonly values: readonly (number | null)[];
  readonly format: (value: number) => string;
  /** Whether parts of one mean nothing. */
  readonly isWhole?: boolean;
  /** A limit. */
  readonly line?: number | null;
}) {
  const place = useRef<HTMLDivElement>(null);
  const known = values.flatMap((value) => value ?? []);
  useEffect(() => {
    const { current } = place;
    if (current === null || known.length === 0) return;
    const colour = (name: string): string => getComputedStyle(current).getPropertyValue(name);
    const axis = {
      stroke: colour('--dim'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { stroke: colour('--line'), width: 1 },
    };
    const plot = new uPlot(
      {
        width: current.clientWidth,
        height: 150,
        legend: { show: false },
        scales: {
          x: { time: false },
          y: { range: (_, least, most) => [Math.min(0, least), Math.max(most, line ?? 0) * 1.05 || 1] },
        },
        axes: [
          { ...axis, incrs: [...WHOLE] },
          {
            ...axis,
            size: 64,
            ...(isWhole ? { incrs: [...WHOLE] } : {}),
            values: (_, ticks) => ticks.map((tick) => format(tick)),
          },
        ],
        series: [
          {},
          { stroke: colour('--link'), width: 2, points: { show: true, size: 6 } },
          { stroke: colour('--bad'), width: 1, dash: [6, 4], points: { show: false } },
        ],
      },
      [[...at], [...values], at.map(() => line)],
      current,
    );
    return () => plot.destroy();
  }, [JSON.stringify([at, values, line])]);
  if (known.length === 0) return null;
  const [first, last] = [at[0], at.at(-1)];
  const label = `${title}: at most ${format(Math.max(...known))} in iterations ${first} to ${last}`;
  return (
    <figure>
      <figcaption>{title}</figcaption>
      <div ref={place} role="img" aria-label={label} />
    </figure>
  );
}
