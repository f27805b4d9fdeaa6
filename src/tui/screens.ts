/** The screens of `ralph watch`, as lines. */
import type { LoopView } from '../loops/loops.ts';
import { columns as table } from '../text/columns.ts';
import { iterationStrip, STRIP_LEGEND, type IterationMark } from '../text/iteration-strip.ts';
import { cellsOf, colourOf } from '../text/list.ts';
import { homely, visible } from '../text/one-line.ts';
import { summary } from '../text/summary.ts';
import { nowText, spokenRow, watchTable } from '../text/watch-rows.ts';
import { whyOpen, type WhyLine } from '../text/why-open.ts';
import { itemsOf, neededIn, windowOn, type Item, type Model } from './model.ts';
import { plainLines, TABS, type OpenedLoop } from './opened-loop.ts';
import { fitted, windowOf, type Colour, type Look } from './style.ts';

/** The lines of the screen. */
export function screenOf(model: Model, look: Look): readonly string[] {
  const foot = footOf(model, look);
  const height = Math.max(1, look.rows - foot.length);
  const { page, opened } = model;
  const body =
    page !== null
      ? [
          fitted(page.title, look, 'bold'),
          ...windowOf(page.lines, page.scroll, { columns: look.columns, height: height - 1 }),
        ]
      : opened !== null
        ? loopScreen(opened, { ...look, rows: height })
        : listScreen(model, { ...look, rows: height });
  const shown = body.slice(0, height);
  if (look.isForScreenReader) return [...shown, ...foot];
  return [...shown, ...Array.from({ length: height - shown.length }, () => ''), ...foot];
}

function listScreen(model: Model, look: Look): readonly string[] {
  const { rows, views, isOfAll, isGrouped, filter } = model;
  const items = itemsOf(model);
  const loops = rows ?? [];
  const running = loops.filter(({ status }) => status === 'running').length;
  const title = [
    'ralph watch',
    `${loops.length} ${loops.length === 1 ? 'loop' : 'loops'}, ${running} running`,
    ...(isOfAll ? ['all workspaces'] : []),
    ...(filter === '' ? [] : [`filter: ${visible(filter)}`]),
  ].join(' · ');
  const head = [needLine(model, look), fitted(title, look, 'bold')];
  const room = Math.max(1, look.rows - head.length - 1);
  const shown = windowOn(model, items, room);
  if (rows === null) return [...head, 'asking for the loops …'];
  if (loops.length === 0)
    return [
      ...head,
      isOfAll ? 'no loops in any workspace' : 'no loops in this workspace; a shows those of all workspaces',
    ];
  if (items.length === 0) return [...head, 'no loop has these words; / changes the filter'];
  if (look.isForScreenReader) return [...head, ...shown.map((item) => spokenItem(item, model, look))];
  return [...head, ...listLines(shown, model, { ...look, hasRepository: isOfAll && !isGrouped, views })];
}

function needLine({ rows }: Model, look: Look): string {
  const needed = neededIn(rows);
  if (needed.length === 0) return fitted(rows === null ? '' : 'no loop needs you', look, 'dim');
  const who = needed.map(({ row, why }) => `${visible(row.name)} (${why})`).join(', ');
  return fitted(`${needed.length} ${needed.length === 1 ? 'needs' : 'need'} you: ${who}`, look, 'yellow');
}

type ListLook = Look & { readonly hasRepository: boolean; readonly views: Model['views'] };

/** The head of the table and its rows, between the names of their workspaces. */
function listLines(items: readonly Item[], { selected }: Model, look: ListLook): readonly string[] {
  const loops = items.flatMap((item) => (item.is === 'loop' ? [item] : []));
  const rows = watchTable(
    loops.map(({ row, level, folded }) => ({ row, level, folded, view: look.views.get(row.id) ?? null })),
    { width: look.columns - MARK.length, now: look.now, hasRepository: look.hasRepository },
  );
  const heads = rows[0] ?? [];
  const [head = '', ...lines] = table(rows, {
    width: look.columns - MARK.length,
    cut: true,
    paint: (text, row, column) => {
      const colour =
        row === 0 ? 'bold' : (colourOf(heads[column], text) ?? (heads[column] === 'NOW' ? 'dim' : null));
      return colour === null ? text : look.paint(colour, text);
    },
  })
    .replace(/\n$/, '')
    .split('\n');
  let at = 0;
  return [
    `${' '.repeat(MARK.length)}${head}`,
    ...items.map((item) => {
      if (item.is === 'workspace') return fitted(homely(visible(item.workspace), look.home), look, 'dim');
      const line = lines[at++] ?? '';
      return item.row.id === selected
        ? `${look.paint('cyan', MARK)}${line}`
        : `${' '.repeat(MARK.length)}${line}`;
    }),
  ];
}

const MARK = '> ';

function spokenItem(item: Item, { views, selected }: Model, look: Look): string {
  if (item.is === 'workspace') return `workspace ${homely(visible(item.workspace), look.home)}`;
  const words = spokenRow({ row: item.row, view: views.get(item.row.id) ?? null });
  return item.row.id === selected ? `selected: ${words}` : words;
}

function loopScreen(opened: OpenedLoop, look: Look): readonly string[] {
  const { view, ref, tab, problem } = opened;
  const tabs = TABS.map((one, index) =>
    one === tab ? look.paint('bold', `[${one}]`) : `${index + 1} ${one}`,
  );
  const head = [
    fitted(view === null ? visible(ref.name) : headOf(view, look), look, 'bold'),
    ...(view === null ? [] : [stripOf(opened, look)]),
    tabs.join('  '),
  ];
  const room = { columns: look.columns, height: Math.max(1, look.rows - head.length) };
  if (problem !== null)
    return [...head, ...windowOf([visible(problem)], 0, room).map((line) => look.paint('red', line))];
  return [...head, ...tabLines(opened, room, look)];
}

function tabLines(
  opened: OpenedLoop,
  room: { readonly columns: number; readonly height: number },
  look: Look,
): readonly string[] {
  const { tab, scroll } = opened;
  if (tab === 'why') {
    const lines = whyLines(opened);
    const texts = lines.map(({ text }) => text);
    const from = Math.min(scroll ?? 0, Math.max(0, texts.length - 1));
    return lines
      .slice(from)
      .flatMap(({ as, text }) =>
        windowOf([`${INDENTS[as]}${text}`], 0, room).map((line) => painted(line, WHY[as], look)),
      )
      .slice(0, room.height);
  }
  const lines = windowOf(contentOf(opened, look), scroll, room);
  return tab === 'diff' ? lines.map((line) => painted(line, diffColour(line), look)) : lines;
}

/** The whole text of a tab, of which a part is on the screen. */
export function contentOf(opened: OpenedLoop, look: Look): readonly string[] {
  const { tab, stream, isFolded, facts } = opened;
  if (tab === 'why') return whyLines(opened).map(({ text }) => text);
  if (tab === 'stream') return stream?.lines(isFolded) ?? ['the agent has not run yet'];
  if (tab !== 'report') return opened.lines;
  if (facts === null) return [];
  return summary(facts, { home: look.home, width: look.columns, height: Number.POSITIVE_INFINITY }).flatMap(
    plainLines,
  );
}

function whyLines({ view, facts }: OpenedLoop): readonly WhyLine[] {
  return view === null ? [] : whyOpen(view, facts);
}

const INDENTS: Readonly<Record<WhyLine['as'], string>> = {
  heading: '',
  test: '  ✗ ',
  output: '    ',
  text: '  ',
};
const WHY: Readonly<Record<WhyLine['as'], Colour | null>> = {
  heading: 'bold',
  test: 'red',
  output: 'dim',
  text: null,
};

function painted(line: string, colour: Colour | null, { paint }: Look): string {
  return colour === null ? line : paint(colour, line);
}

function diffColour(line: string): Colour | null {
  if (/^(?:diff |index |[+-]{3} )/.test(line)) return 'dim';
  return line.startsWith('+')
    ? 'green'
    : line.startsWith('-')
      ? 'red'
      : line.startsWith('@@')
        ? 'cyan'
        : null;
}

/** `cart · running · 2 of 10 · fail · $0.75 of $5.00 · Bash(npm test) 12 s`. */
function headOf(view: LoopView, look: Look): string {
  const { summary: of, about, report } = view;
  const row = { ...of, about, worker: { startedAt: report.startedAt } };
  const cells = cellsOf(row, 0, look.columns, look.now);
  const doing = nowText({ row, view }, look.now);
  return [cells.name, cells.state, cells.iterations, cells.checks, cells.cost, cells.branch, doing]
    .filter((part) => part !== '')
    .join(' · ');
}

/** The last iterations that fit, with the chosen one in brackets. */
function stripOf({ view, iteration }: OpenedLoop, look: Look): string {
  const parts = view === null ? [] : iterationStrip(view, look.now);
  const chosen = parts.find((one) => one.iteration === iteration) ?? parts.at(-1);
  if (chosen === undefined) return fitted('no iteration has started', look, 'dim');
  const end = ` ${chosen.durationText}, cost ${chosen.costText}`;
  let room = look.columns - end.length - 2;
  const shown: string[] = [];
  for (const part of parts.toReversed()) {
    room -= part.text.length + 1;
    if (room < 0) break;
    const text = look.paint(MARK_COLOURS[part.mark], part.text);
    shown.unshift(part === chosen ? `[${text}]` : text);
  }
  return `${shown.join(' ')}${look.paint('dim', end)}`;
}

const MARK_COLOURS: Readonly<Record<IterationMark, Colour>> = {
  green: 'green',
  red: 'red',
  failed: 'red',
  limit: 'yellow',
  none: 'dim',
  open: 'cyan',
};

/** What has become of the last request, and what can be typed. */
function footOf({ input, note, opened, page }: Model, look: Look): readonly string[] {
  const said = note === null ? [] : [fitted(note.text, look, note.isProblem ? 'red' : 'green')];
  if (input !== null) {
    const label = `${input.label} `;
    const room = Math.max(8, look.columns - label.length - 1);
    // The end of a long text is what is being typed.
    const text = visible(input.text);
    const shown = text.length > room ? `…${text.slice(1 - room)}` : text;
    return [...said, fitted(`${label}${shown}▏`, look, 'cyan')];
  }
  const keys = page !== null ? PAGE_KEYS : opened === null ? LIST_KEYS : LOOP_KEYS;
  return [...said, look.paint('dim', wholeWords(keys, look.columns))];
}

/** As many keys as fit. */
function wholeWords(keys: string, columns: number): string {
  return keys.length <= columns ? keys : keys.slice(0, keys.lastIndexOf('  ', columns));
}

/** On a narrow terminal the last ones are left out. */
const LIST_KEYS =
  'q quit  ? keys  Enter open  n next  r reply  t tell  p pause  s stop  l limit  m morning  a all  / filter  g group';
const LOOP_KEYS =
  'q quit  ? keys  Esc back  Tab part  [ ] iteration  x tools  r reply  t tell  p pause  s stop  l limit';
const PAGE_KEYS = 'q quit  Esc back  ↑ ↓ scroll';

export const HELP: readonly string[] = [
  'Up, Down, j, k      select a loop, or scroll',
  'PageUp, PageDown    a screen at a time; Home and End go to the first and the last',
  'Enter               open the loop',
  'Space               show or fold the loops below it',
  'n                   the next loop that needs you',
  'r                   reply to a question of the agent',
  't                   tell: words for the next prompt',
  'p                   pause, or resume',
  's                   stop',
  'l                   set a limit: max-iterations=20 max-cost=5',
  'm                   the morning page: the last 12 hours',
  'a                   the loops of all workspaces, or of this one',
  'g                   group by workspace',
  '/                   filter by words: name, task, branch, tag, status',
  ':                   a command: pause, resume, stop --now, tell, set …',
  '?                   this page',
  'q                   quit; the loops go on',
  '',
  'In a loop: Tab and 1 to 7 change the part, [ and ] the iteration;',
  'x shows and folds what tools print; Esc goes back.',
  `Iterations: ${STRIP_LEGEND}`,
];
