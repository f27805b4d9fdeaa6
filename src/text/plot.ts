/** Plots of one number per iteration as SVG: no script, no style of its own, nothing that a browser has to fetch. */
import { escapeHtml } from './escape-html.ts';

export interface Plot {
  readonly title: string;
  readonly points: readonly PlotPoint[];
  /** How a value is written. */
  readonly format: (value: number) => string;
}

export interface PlotPoint {
  readonly iteration: number;
  /** Null if it is unknown: there is a gap. */
  readonly value: number | null;
}

/** A bar for each iteration, with its value in a tooltip; empty if no value is known. */
export function plotSvg({ title, points, format }: Plot): string {
  const known = points.flatMap(({ value }) => (value === null ? [] : [value]));
  const [first, last] = [points[0], points.at(-1)];
  if (known.length === 0 || first === undefined || last === undefined) return '';
  const most = Math.max(...known);
  const step = (WIDTH - LEFT) / points.length;
  const bars = points.map(({ iteration, value }, index) => {
    if (value === null) return '';
    // A value of zero stays visible, so that it does not look unknown.
    const height = Math.max(1, most === 0 ? 0 : (value / most) * HEIGHT);
    const box = [LEFT + index * step, TOP + HEIGHT - height, Math.max(1, step * FILLED), height].map(rounded);
    const [x, y, width, tall] = box;
    const tip = escapeHtml(`iteration ${iteration}: ${format(value)}`);
    return `<rect x="${x}" y="${y}" width="${width}" height="${tall}"><title>${tip}</title></rect>`;
  });
  const label = escapeHtml(
    `${title}: at most ${format(most)} in iterations ${first.iteration} to ${last.iteration}`,
  );
  const bottom = TOP + HEIGHT;
  return [
    `<figure><figcaption>${escapeHtml(title)}</figcaption>`,
    `<svg viewBox="0 0 ${WIDTH} ${bottom + BELOW}" role="img" aria-label="${label}">`,
    `<text x="${LEFT - 4}" y="${TOP + 8}" text-anchor="end">${escapeHtml(format(most))}</text>`,
    `<text x="${LEFT - 4}" y="${bottom}" text-anchor="end">0</text>`,
    `<line x1="${LEFT}" y1="${bottom}" x2="${WIDTH}" y2="${bottom}"/>`,
    ...bars,
    `<text x="${LEFT}" y="${bottom + BELOW - 2}">${first.iteration}</text>`,
    `<text x="${WIDTH}" y="${bottom + BELOW - 2}" text-anchor="end">${last.iteration}</text>`,
    '</svg></figure>',
  ].join('');
}

const [WIDTH, HEIGHT, LEFT, TOP, BELOW] = [320, 80, 56, 4, 14];
/** How much of its place a bar fills. */
const FILLED = 0.8;

function rounded(value: number): string {
  return String(Math.round(value * 100) / 100);
}
