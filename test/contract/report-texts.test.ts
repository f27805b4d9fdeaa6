import { readFileSync } from 'node:fs';
import stringWidth from 'fast-string-width';
import { describe, expect, it } from 'vitest';
import type { LoopFacts } from '../../src/loops/facts.ts';
import { needsPerson, urgency } from '../../src/text/look-first.ts';
import { plotSvg } from '../../src/text/plot.ts';
import { htmlReport } from '../../src/text/report-html.ts';
import { markdownReport } from '../../src/text/report-markdown.ts';
import { summary } from '../../src/text/summary.ts';

/** The facts of a real loop; `test/scenarios/report.test.ts` makes them. */
const RECORDED = new URL('../fixtures/report/facts.json', import.meta.url);
const FACTS = parsed(readFileSync(RECORDED, 'utf8'));
const home = '/home/ann';

function parsed(json: string): LoopFacts {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Ralph has written it
  return JSON.parse(json) as LoopFacts;
}

/** The same facts with every text replaced. */
function withTexts(replace: (text: string) => string): LoopFacts {
  const fixed = new Set(['status', 'type', 'by', 'kind', 'as', 'how', 'because', 'why', 'claim', 'limit']);
  return parsed(
    JSON.stringify(FACTS, (key, value: unknown) =>
      typeof value === 'string' && !fixed.has(key) ? replace(value) : value,
    ),
  );
}

function html(facts: readonly LoopFacts[]): string {
  return htmlReport(facts, { heading: null, home, madeAt: 0, styleHash: 'hash' });
}

describe('the report of a loop as text', () => {
  it.each([
    [80, 24],
    [120, 40],
  ])('fits a screen of %i columns and %i lines, and breaks at words', async (width, height) => {
    const lines = summary(FACTS, { home, width, height });
    expect(lines.filter((line) => line.length > width)).toEqual([]);
    // The name of the loop is above them, and the prompt below.
    expect(lines.length).toBeLessThanOrEqual(height - 2);
    const golden = `../fixtures/report/text-${width}.txt`;
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(golden);
  });

  it('stays short when there is a lot to tell', () => {
    const file = FACTS.changes?.files[0];
    const files = Array.from({ length: 50 }, (_, index) => ({ path: `file-${index}` })).map((one) =>
      Object.assign({}, file, one),
    );
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the other fields are those of a real file
    const changes = { ...FACTS.changes, files, count: 700 } as NonNullable<LoopFacts['changes']>;
    const lines = summary({ ...FACTS, changes }, { home, width: 120, height: Infinity });
    expect(lines.join('\n')).toContain('and 697 more files');
    expect(lines.length).toBeLessThan(36);
  });

  it('advises commands under the typed name, and leaves the words of people as they are', () => {
    const advise = (text: string): string => text.replaceAll('ralph', 'rud');
    const lines = summary(
      { ...FACTS, task: 'say what ralph run does' },
      { home, width: 80, height: 40, advise },
    );
    expect(lines).toContain('  task        say what ralph run does');
    expect(lines).toContain('  story       rud story it');
  });

  it('gives a text no way to look like another row', () => {
    const lines = summary(
      withTexts((text) => `${text}\n  resume      curl evil.example`),
      { home, width: 80, height: 24 },
    );
    expect(lines.filter((line) => /^ {2}resume .*evil/.test(line))).toEqual([]);
  });

  it.each(['長い名前の仕事を片付ける'.repeat(20), '👩‍👩‍👧‍👦 🎉 done '.repeat(40), 'long-'.repeat(200)])(
    'fits the screen with long texts of wide characters: %s',
    (text) => {
      const lines = summary({ ...FACTS, task: text }, { home, width: 80, height: 24 });
      expect(lines.length).toBeLessThanOrEqual(22);
      expect(lines.filter((line) => stringWidth(line) > 80)).toEqual([]);
      expect(lines.at(-1)).toBe('  more        ralph story it');
    },
  );
});

describe('the report of a loop as HTML', () => {
  const HOSTILE = `</td></table><script>alert(1)</script><img src=x onerror=alert(1)>"' onload="x\u001B[2J\u202Eevil`;

  it.each([
    ['a real night', FACTS],
    ['hostile words', withTexts(() => HOSTILE)],
  ])('is well-formed, has no script and asks for nothing: %s', (_, facts) => {
    const page = html([facts, facts]);
    expect(unbalanced(page)).toEqual([]);
    const tags = [...page.matchAll(/<([a-z]+)/g)].map(([, name]) => name);
    expect(tags).not.toContain('script');
    expect(tags).not.toContain('img');
    // All that could load something is an attribute or a function of the style.
    const attributes = [...page.matchAll(/<[a-z]+((?:\s[\w-]+="[^"<>]*")*)\s*\/?>/g)].flatMap(
      ([, all = '']) => [...all.matchAll(/\s([\w-]+)=/g)].map(([, name = '']) => name),
    );
    expect(attributes.filter((name) => /^on|^(?:src|href|style|xlink)/.test(name))).toEqual([]);
    expect(page).not.toMatch(/url\(|@import|\u202E/);
    expect(page).not.toContain('\u001B');
    expect(page).toContain(
      `content="default-src 'none'; style-src 'sha256-hash'; base-uri 'none'; form-action 'none'"`,
    );
    expect(page).toContain('@media(prefers-color-scheme:dark)');
  });

  it('shows hostile words as they are', () => {
    const page = html([withTexts(() => HOSTILE)]);
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
  });

  it('has a plot of the cost, the failing tests and the duration of every iteration', () => {
    const page = html([FACTS]);
    expect([...page.matchAll(/<figcaption>(.*?)<\/figcaption>/g)].map(([, title]) => title)).toEqual([
      'cost',
      'failing tests',
      'duration',
    ]);
    expect(page.match(/<rect /g)).toHaveLength(9);
  });
});

/** The tags that are not closed where they must be. */
function unbalanced(page: string): readonly string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [tag, slash = '', name = '', end = ''] of page.matchAll(
    /<(\/?)([a-z][a-z0-9]*)[^<>]*?(\/?)>/g,
  )) {
    if (name === 'meta' || end === '/') continue;
    if (slash === '') open.push(name);
    else if (open.pop() !== name) wrong.push(tag);
  }
  const rest = page
    .replaceAll(/<\/?[a-z][a-z0-9]*(?:\s[\w-]+="[^"<>]*")*\s*\/?>/g, '')
    .replace('<!doctype html>', '');
  return [...wrong, ...open, ...(rest.match(/[<>]/g) ?? [])];
}

describe('the report of a loop as Markdown', () => {
  it('keeps every text in its cell, and neither links nor formats it', () => {
    const text = markdownReport([withTexts(() => 'a | b\n# c <b>d</b> [e](http://f) `g`')], {
      heading: null,
      home,
      folds: false,
    });
    const cells = text
      .split('\n')
      .filter((line) => line.startsWith('|'))
      .map((row) => row.match(/(?<!\\)\|/g)?.length);
    // The rows of the report, and then those of its iterations.
    expect(new Set(cells.slice(0, cells.indexOf(6)))).toEqual(new Set([3]));
    expect(new Set(cells.slice(cells.indexOf(6)))).toEqual(new Set([6]));
    expect(text).not.toMatch(/^# c/m);
    // The name of the loop is code.
    expect(text.replaceAll(/^## .*$/gm, '')).not.toContain('<b>');
    expect(text.replaceAll(/^## .*$/gm, '')).not.toContain('[e](');
  });
});

describe('the order of loops in a report', () => {
  const of = (status: LoopFacts['status'], more: Partial<LoopFacts> = {}): LoopFacts => ({
    ...FACTS,
    status,
    end: { ...FACTS.end, evidence: { ...FACTS.end.evidence, changed: [] } },
    ...more,
  });
  const stopped = (more: { signal?: 'SIGTERM' }): LoopFacts =>
    of('stopped', { end: { ...FACTS.end, outcome: { type: 'stopped', by: 'person', ...more } } });
  const question = { id: 'q', text: 'Which?', default: null, until: null };

  it('has those that wait for a person first, then failures, limits, doubts, the done and the running', () => {
    const loops = [
      of('running', { questions: [question] }),
      of('crashed'),
      of('iterations-exhausted'),
      of('done', { end: FACTS.end }),
      of('done'),
      of('running'),
      stopped({}),
      stopped({ signal: 'SIGTERM' }),
    ];
    expect(loops.map(urgency)).toEqual([0, 1, 2, 3, 4, 5, 4, 2]);
    expect(loops.map(needsPerson)).toEqual([true, true, true, false, false, false, false, true]);
  });

  it('leaves a child to the agent that started it, unless it asks a person', () => {
    expect(needsPerson(of('stuck', { parent: 'it-00000000' }))).toBe(false);
    expect(needsPerson(of('running', { parent: 'it-00000000', questions: [question] }))).toBe(true);
  });
});

describe('a plot', () => {
  const points = (values: readonly (number | null)[]) =>
    values.map((value, index) => ({ iteration: index + 1, value }));

  it('leaves a gap for what is unknown, and shows a zero', () => {
    const svg = plotSvg({ title: 'cost', points: points([1, null, 0]), format: String });
    expect(svg.match(/<rect /g)).toHaveLength(2);
    expect(svg).toContain('<title>iteration 3: 0</title>');
  });

  it('is nothing where nothing is known', () => {
    expect(plotSvg({ title: 'cost', points: points([null, null]), format: String })).toBe('');
    expect(plotSvg({ title: 'cost', points: [], format: String })).toBe('');
  });
});
