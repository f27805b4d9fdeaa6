/** `ralph report`: one night with everything that a person wants to know in the morning. */
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Terminals } from '../rig/cli/terminal.ts';
import { openLoadedStage, openStage, type Stage } from './stage.ts';

let terminals: Terminals;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());

const says = (usd: number, result: string): string =>
  `echo '${JSON.stringify({ type: 'result', subtype: 'success', total_cost_usd: usd, result })}'`;
const DONE = '<promise>DONE</promise>';

/** The end of Claude Code's stream at a usage limit that resets in an hour. */
function limited(): string {
  const resetsAt = Math.floor(Date.now() / 1000) + 3600;
  const info = { status: 'rejected', resetsAt, rateLimitType: 'five_hour' };
  const end = { type: 'result', subtype: 'success', is_error: true, result: 'limit reached' };
  return [{ type: 'rate_limit_event', rate_limit_info: info }, end]
    .map((one) => `echo '${JSON.stringify(one)}'`)
    .join('; ');
}

/** A loop whose first claim is rejected, that starts a child, asks a question and meets a usage limit; its final report. */
async function nightOf(stage: Stage): Promise<string> {
  stage.installs('claude');
  stage.identifies();
  const tap = String.raw`printf 'TAP version 13\nnot ok 1 - adds up\n1..1\n'`;
  stage.write('test/cart.test.sh', `test -e fixed || { ${tap}; exit 1; }\n`);
  stage.write('package.json', '{}\n');
  stage.git('add', '.');
  stage.git('commit', '--quiet', '--message', 'tests');
  const ralph = `${process.execPath} ${stage.main}`;
  const kid = `${ralph} run --name kid --agent claude -m 1 'help with the cart' </dev/null`;
  stage.plans(1, `echo >>test/cart.test.sh; echo x >cart.sh; ${kid} >/dev/null 2>&1; ${says(0.4, DONE)}`);
  stage.plans(2, says(0.125, 'helped'));
  stage.plans(3, `${ralph} bus post --type QUESTION 'Which database?'; ${says(0.25, 'asked')}`);
  stage.plans(4, `${limited()}; exit 1`);
  stage.plans(5, `: >fixed; echo '{ "type": "module" }' >package.json; ${says(0.5, DONE)}`);
  const words = ['--agent', 'claude', '--check', 'sh test/cart.test.sh', '--baseline', '--max-cost', '5'];
  const loop = stage.process('run', 'make the cart work', '--name', 'it', '-m', '5', ...words);
  await loop.until('answer with: ralph answer it');
  await stage.ralph('answer', 'it', 'PostgreSQL 16').ended;
  await loop.until('usage limit reached');
  const limitedAt = Date.now();
  // A shorter wait does not count.
  await stage.until('a wait of a second', () => Date.now() - limitedAt > 1100);
  await stage.ralph('resume', 'it', '--now').ended;
  const { code, stderr } = await loop.ended;
  expect({ code, stderr }).toMatchObject({ code: 0 });
  return stderr.slice(stderr.indexOf('ralph: it done\n'));
}

/** The facts without what differs from one night to the next. */
function steady(facts: string): unknown {
  const ids = new Map<string, string>();
  const steadyId = (id: string): string => {
    const known = ids.get(id) ?? `${id.startsWith('MSG') ? 'MSG' : id.slice(0, -9)}-0000000${ids.size}`;
    ids.set(id, known);
    return known;
  };
  return JSON.parse(facts, (key, value: unknown) => {
    // A question may be answered too soon for its wait to count.
    if (key === 'waits')
      return Array.isArray(value) ? Array.from<unknown>(value).filter(isUsageLimit) : value;
    if (/^(?:startedAt|lastAt)$/.test(key)) return 0;
    if (/^(?:durationMs|activeMs|ms)$/.test(key)) return 65_000;
    if (typeof value !== 'string') return value;
    if (key === 'state') return '/home/ann/.local/state/ralph/loops/it-00000000';
    if (key === 'workspace') return '/home/ann/cart';
    return value.replaceAll(/\b(?:MSG-[\w-]+|\w+-[0-9a-f]{8})\b/g, steadyId);
  });
}

/** What a terminal of this size shows of the report, without what differs from one night to the next. */
async function screenOf(stage: Stage, size: readonly [number, number]): Promise<string> {
  const { workspace: cwd, env } = stage;
  const terminal = terminals.open([process.execPath, stage.main, 'report', 'it'], { cwd, env, size });
  await terminal.ends();
  return `${terminal.screen}\n`
    .replaceAll(/(?<=^ {2}waited {6}).*/gm, 'SOME TIME')
    .replaceAll(/\b(?:\d+m )?\d+s(?: \(.*? active\))?/g, 'TIME')
    .replaceAll(/\S+(?=\/ralph\/loops)/g, 'STATE')
    .replaceAll(/\b\w+-[0-9a-f]{8}\b/g, 'ID');
}

function isUsageLimit(wait: unknown): boolean {
  return JSON.stringify(wait).includes('usage-limit');
}

it(
  'tells what happened in the night, in every form, and in the words of the end of the loop',
  { tags: ['tmux'] },
  async () => {
    const stage = openStage();
    const end = await nightOf(stage);
    const one = await stage.ralph('report', 'it').ended;
    expect(one).toEqual({ code: 0, stdout: end, stderr: '' });
    for (const size of [
      [80, 24],
      [120, 40],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const screen = await screenOf(stage, size);
      // The prompt comes below.
      expect(screen.trimEnd().split('\n').length).toBeLessThan(size[1]);
      // oxlint-disable-next-line no-await-in-loop -- as above
      await expect(screen).toMatchFileSnapshot(`../fixtures/report/screen-${size.join('x')}.txt`);
    }
    const all = (await stage.ralph('report', '--since', '1h').ended).stdout;
    expect(all).toMatch(/^2 loops since \d{4}-\d\d-\d\d \d\d:\d\d\n\nralph: it done\n/);
    expect(all).toContain(`\n\n${end}\nralph: kid iterations-exhausted\n`);
    // `test/contract/report-texts.test.ts` makes texts from these facts.
    const json = (await stage.ralph('report', 'it', '--format', 'json').ended).stdout;
    await expect(`${JSON.stringify(steady(json), null, 2)}\n`).toMatchFileSnapshot(
      '../fixtures/report/facts.json',
    );
    const listed: unknown = JSON.parse((await stage.ralph('report', '--format', 'json').ended).stdout);
    expect(listed).toMatchObject([{ name: 'it' }, { name: 'kid' }]);

    symlinkSync('morning.html', stage.path('link.html'));
    writeFileSync(stage.path('morning.html'), 'of yesterday', { mode: 0o640 });
    const html = await stage.ralph('report', '--format', 'html', '--output', 'link.html').ended;
    expect(html).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(stage.read('morning.html')).toContain('<title>iteration 1: $0.40</title>');
    expect(stage.read('morning.html')).toContain('<title>iteration 2: 1</title>');

    stage.env['GITHUB_STEP_SUMMARY'] = stage.path('step.md');
    writeFileSync(stage.path('step.md'), 'before\n');
    await stage.ralph('report', 'it', '--format', 'github').ended;
    expect(stage.read('step.md')).toMatch(/^before\n## Ralph loop `it`: done\n/);
    expect(stage.read('step.md')).toContain('- +1 -0 test/cart.test.sh (check)\n- +1 -1 package.json');
  },
);

it('refuses bad input with one message, and leaves the file of an earlier report as it was', async () => {
  const stage = openLoadedStage();
  const nothing = await stage.ralph('report', '--since', '2h').ended;
  expect(nothing).toMatchObject({ code: 0, stderr: '' });
  expect(nothing.stdout).toMatch(/^no loops since [\d-]{10} \d\d:\d\d\n$/);
  expect((await stage.ralph('report', '--format', 'json').ended).stdout).toBe('[]\n');
  mkdirSync(stage.path('folder'));
  stage.write('earlier.html', 'of yesterday');
  for (const [words, message] of [
    [
      ['--format', 'pdf', '--output', 'earlier.html'],
      '--format must be one of text, json, markdown, github, html, got "pdf"',
    ],
    [['--since', 'soon'], '--since must be a time such as 90, 90s, 15m or 2h, got "soon"'],
    [['nothing'], 'no loop named "nothing" in this workspace'],
    [['it', '--all'], 'cannot use --all with the name of a loop; drop one of them'],
    [['--output', ''], '--output must not be empty'],
    [['--output', 'no/such/file'], '--output: cannot write no/such/file: '],
    [['--output', 'folder'], '--output: cannot write folder: '],
  ] as const) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const { code, stdout, stderr } = await stage.ralph('report', ...words).ended;
    expect({ words, code, stdout }).toEqual({ words, code: 2, stdout: '' });
    expect(stderr).toContain(`ralph: error: ${message}`);
    expect(stderr.trim().split('\n')).toHaveLength(1);
  }
  expect(stage.read('earlier.html')).toBe('of yesterday');
  expect(readdirSync(stage.path('folder'))).toEqual([]);
});

it('tells the loops that need a person first, and where a loop goes on', async () => {
  const stage = openStage();
  stage.plans('default', `echo '${DONE}'`);
  await stage.ralph('run', 'a', '--name', 'done', '--', stage.agent).ended;
  await stage.ralph('run', 'b', '--name', 'failed', '-m', '1', '--check', 'exit 1', '--', stage.agent).ended;
  stage.plans('default', `${process.execPath} ${stage.main} bus post --type QUESTION 'Tabs or spaces?'`);
  const asks = stage.process('run', 'c', '--name', 'asks', '--', stage.agent);
  await asks.until('answer with: ralph answer asks');
  const { stdout } = await stage.ralph('report').ended;
  expect(stdout).toMatch(/^3 loops since [\d-]{10} \d\d:\d\d; 2 need a person\n/);
  expect([...stdout.matchAll(/^ralph: (\S+) /gm)].map(([, name]) => name)).toEqual([
    'asks',
    'failed',
    'done',
  ]);
  expect(stdout).toContain(
    '  look first  the question "Tabs or spaces?"; answer it with: ralph answer asks "…"\n',
  );
  expect(stdout).toContain('  follow      ralph logs asks -f\n');
  expect(stdout).toContain('  resume      ralph resume failed -m 2\n');
  const everywhere = (await stage.ralph('report', '--all').ended).stdout;
  expect(everywhere.split(`  workspace   ${stage.workspace}\n`)).toHaveLength(4);
  const late = await stage.ralph('report', 'failed', '--since', '0s').ended;
  expect(late.stdout).toMatch(/^ {2}since {7}[\d-]{10} \d\d:\d\d: 0 iterations$/m);
  await stage.ralph('stop', 'asks', '--now').ended;
  await asks.ended;
});
