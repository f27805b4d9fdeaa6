/** A row of a report as lines, with the rows below it that continue it. */
export interface Block {
  readonly label: string;
  readonly lines: readonly string[];
}

/** The blocks that fit a screen of this many lines: the least important ones are left out, then the long ones are cut. */
export function onScreen(blocks: readonly Block[], height: number): readonly Block[] {
  let shown = blocks;
  const fits = (): boolean => shown.reduce((sum, { lines }) => sum + lines.length, 0) <= height;
  for (const least of LEAST_FIRST) {
    if (fits()) return shown;
    shown = shown.filter(({ label }) => label !== least);
  }
  for (const most of [4, 3, 2, 1]) {
    if (fits()) return shown;
    shown = shown.map(({ label, lines }) => ({ label, lines: lines.slice(0, most) }));
  }
  return shown;
}

/** What other commands tell as well, or what the rows above it sum up. */
const LEAST_FIRST: readonly string[] = [
  'by agent',
  'by run',
  'fixed',
  'evidence',
  'used',
  'logs',
  'details',
  'crashed',
  'waited',
  'limit',
  'commits',
  'note',
];
