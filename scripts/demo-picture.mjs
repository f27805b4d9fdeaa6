/**
 * Draws what a terminal shows of `ralph demo` as SVG, for the README. The recording is of a real terminal; the test of the demo
 * compares it with the demo of now, and writes it and the pictures with `npm run docs`.
 */

/** The picture of a recording, for a light or a dark page. */
export function demoPicture(recording, theme) {
  const lines = recording
    .trimEnd()
    .split('\n')
    .flatMap((line) => wrapped(spansOf(line)));
  const height = lines.length * LINE + 2 * MARGIN;
  const width = COLUMNS * COLUMN + 2 * MARGIN;
  const { background, border, text, ...colours } = THEMES[theme];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<style>
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: ${text}; white-space: pre; }
.bold { font-weight: bold; }
${Object.entries(colours)
  .map(([name, colour]) => `.${name} { fill: ${colour}; }`)
  .join('\n')}
</style>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8" fill="${background}" stroke="${border}"/>
${lines.map((spans, at) => drawn(spans, MARGIN + (at + 0.75) * LINE)).join('\n')}
</svg>
`;
}

/** The columns of the terminal. */
export const COLUMNS = 108;

const COLUMN = 7.8;
const LINE = 19;
const MARGIN = 16;

const THEMES = {
  light: {
    background: '#f6f8fa',
    border: '#d1d9e0',
    text: '#1f2328',
    dim: '#59636e',
    red: '#cf222e',
    green: '#116329',
    yellow: '#7d4e00',
    cyan: '#0b6b78',
  },
  dark: {
    background: '#0d1117',
    border: '#3d444d',
    text: '#e6edf3',
    dim: '#9198a1',
    red: '#ff7b72',
    green: '#56d364',
    yellow: '#e3b341',
    cyan: '#56d4dd',
  },
};

/** What the numbers of an escape sequence switch on; all others switch off. */
const STYLES = { 1: 'bold', 2: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan' };
const ENDS = { 0: Object.values(STYLES), 22: ['bold', 'dim'], 39: ['red', 'green', 'yellow', 'cyan'] };

// oxlint-disable-next-line no-control-regex -- escape sequences are what it looks for
const SEQUENCE = /(\u001B\[\d*m)/;

/** The pieces of a line, each with its styles. */
function spansOf(line) {
  let styles = [];
  const spans = [];
  for (const piece of line.split(SEQUENCE)) {
    const code = SEQUENCE.test(piece) ? piece.slice(2, -1) : undefined;
    if (code === undefined) spans.push({ styles, text: piece });
    else if (code in STYLES) styles = styles.concat(STYLES[code]);
    else styles = styles.filter((one) => !(ENDS[code === '' ? 0 : code] ?? []).includes(one));
  }
  return spans.filter(({ text }) => text !== '');
}

/** The lines that a terminal makes of a long one. */
function wrapped(spans) {
  const lines = [[]];
  let room = COLUMNS;
  for (const { styles, text } of spans) {
    let rest = [...text];
    while (rest.length > room) {
      lines.at(-1).push({ styles, text: rest.slice(0, room).join('') });
      lines.push([]);
      rest = rest.slice(room);
      room = COLUMNS;
    }
    lines.at(-1).push({ styles, text: rest.join('') });
    room -= rest.length;
  }
  return lines;
}

function drawn(spans, y) {
  const parts = spans.map(({ styles, text }) => {
    const shown = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
    return styles.length === 0 ? shown : `<tspan class="${styles.join(' ')}">${shown}</tspan>`;
  });
  return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${parts.join('')}</text>`;
}
