/* oxlint-disable no-await-in-loop -- the commands run one after the other */
/** The snapshot that the end of every loop writes: `ralph ls` and `ralph status` start with it, and never say anything else because of it. */
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { rewriteJournal } from './rewrite-journal.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const work = ['-p', 'work', '-m', '1'];

/** A loop named `it` that has ended. */
async function endedLoop(stage: Stage = openLoadedStage(), ...args: readonly string[]): Promise<Stage> {
  await stage.run(...work, ...args);
  return stage;
}

async function said(stage: Stage, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await stage.ralph(...args).ended;
  return `${stdout}${stderr}`;
}

/** Changes what the snapshot says, which shows whether an answer comes from it. */
function falsify(stage: Stage): void {
  const file = stage.file('snapshot.json');
  writeFileSync(file, withChecksum(falsified(readFileSync(file, 'utf8'))));
}

/** A snapshot with the checksum that its text should have. */
function withChecksum(snapshot: string): string {
  const [shape = '', , text = ''] = snapshot.split('\n');
  return `${shape}\n${crc32(text)}\n${text}\n`;
}

function falsified(text: string): string {
  return text.replaceAll(
    '"type":"iterations-exhausted","limit":1',
    '"type":"iterations-exhausted","limit":77',
  );
}

const FALSIFIED = 'iteration limit reached: 77';

it('is written at the end of a loop, and answers for it as long as its journal is the same', async () => {
  const stage = await endedLoop();
  expect(statSync(stage.file('snapshot.json')).mode & 0o777).toBe(0o600);
  const questions = [['ls'], ['ls', '--all'], ['status'], ['status', 'it'], ['ls', '--json']];
  const answers: string[] = [];
  for (const args of questions) answers.push(await said(stage, ...args));
  falsify(stage);
  for (const args of questions) expect(await said(stage, ...args)).toContain(FALSIFIED);
  expect((await stage.ralph('status', 'it').ended).code).toBe(1);
  // The same bytes in a file that was written again.
  writeFileSync(stage.file('journal.jsonl'), readFileSync(stage.file('journal.jsonl')));
  expect(await said(stage, 'ls')).toContain(FALSIFIED);
  rmSync(stage.file('snapshot.json'));
  for (const [index, args] of questions.entries()) expect(await said(stage, ...args)).toBe(answers[index]);
});

it('is not used for a journal that has changed, and hides no damage of it', async () => {
  const stage = await endedLoop();
  falsify(stage);
  const journal = stage.file('journal.jsonl');
  const intact = readFileSync(journal, 'utf8');
  rewriteJournal(stage, (event) =>
    event.type === 'loop.ended'
      ? { ...event, outcome: { type: 'time-exhausted', limitMs: 1000, resetsAt: Date.now() + 3_600_000 } }
      : event,
  );
  expect(await said(stage, 'ls')).toContain('the usage limit resets at ');
  expect(await said(stage, 'status', 'it')).toContain('the usage limit resets at ');
  writeFileSync(journal, intact.replace('"type":"iteration.started"', '"type":"iteration.STARTED"'));
  expect(await said(stage, 'ls')).toMatch(/it +unreadable .*journal\.jsonl:\d+: this line is damaged/);
  writeFileSync(journal, intact);
  expect(await said(stage, 'ls')).toContain(FALSIFIED);
});

it('is followed by the events after it', async () => {
  const stage = await endedLoop();
  await stage.ralph('resume', 'it', '-m', '2').ended;
  expect(await said(stage, 'ls')).toMatch(/it +iteration limit +2\/2 .* iteration limit reached: 2/);
  expect(await said(stage, 'status', 'it')).toContain('Iteration: 2/2\n');
  rmSync(stage.file('snapshot.json'));
  expect(await said(stage, 'status', 'it')).toContain('Iteration: 2/2\n');
});

it('does not stand for a loop that runs, or that crashed, after it', async () => {
  const stage = await endedLoop(openStage());
  stage.plans('default', waitFor());
  const ralph = stage.process('resume', 'it', '-m', '2');
  await stage.waitForCall(2);
  expect(await said(stage, 'ls')).toMatch(/it +running +2\/2 /);
  expect(await said(stage, 'status', 'it')).toContain(`\nOwner: process ${ralph.pid}\n`);
  const { code, stdout } = await stage.ralph('status', 'it').ended;
  expect(stdout).toContain('Status: running\n');
  expect(code).toBe(0);
  ralph.signal('SIGKILL');
  await ralph.ended;
  expect(await said(stage, 'ls')).toMatch(/it +crashed .*its agent \(process \d+\) is still running/);
  stage.killAll();
  expect(await said(stage, 'ls')).toMatch(/it +crashed .*no process runs it\n/);
  stage.release();
  await stage.ralph('resume', 'it').ended;
  expect(await said(stage, 'ls')).toMatch(/it +iteration limit +2\/2 +\d+s/);
});

it('is not used if it is damaged, a link, a folder or missing', async () => {
  const stage = await endedLoop();
  const [row, status] = [await said(stage, 'ls', '--json'), await said(stage, 'status', 'it')];
  const file = stage.file('snapshot.json');
  const intact = readFileSync(file, 'utf8');
  const damages: readonly ((text: string) => string)[] = [
    () => '',
    () => 'null',
    () => '\n{}\n{}\n',
    (text) => text.slice(0, -20),
    (text) => `0 ${text}`,
    (text) => text.replace('"limit":77', '"limit":78'),
    (text) => withChecksum(text.replace('"mark":', '"mork":')),
    (text) => withChecksum(text.replace(/"stamp":"[^"]*"/, '"stamp":1')),
    (text) => withChecksum(text.replace(/"sum":\d+,"stamp":"[^"]*"/, '"sum":1')),
    (text) => withChecksum(text.replace(/"bytes":\d+,("sum":\d+),"stamp":"[^"]*"/, '"bytes":99999999,$1')),
  ];
  const check = async (): Promise<void> => {
    expect(await said(stage, 'ls', '--json')).toBe(row);
    expect(await said(stage, 'status', 'it')).toBe(status);
  };
  for (const damage of damages) {
    const usable = withChecksum(falsified(intact));
    expect(damage(usable)).not.toBe(usable);
    writeFileSync(file, damage(usable));
    await check();
  }
  rmSync(file);
  symlinkSync('/etc/passwd', file);
  await check();
  rmSync(file);
  mkdirSync(file);
  await check();
  await stage.ralph('resume', 'it', '-m', '2').ended;
  expect(await said(stage, 'ls')).toMatch(/it +iteration limit +2\/2/);
});

it('is not needed: a loop ends the same if it cannot be written', async () => {
  const stage = openStage();
  stage.plans('default', waitFor());
  const ralph = stage.starts(...work);
  await stage.waitForCall(1);
  mkdirSync(stage.file('snapshot.json'));
  stage.release();
  const { code, stderr } = await ralph.ended;
  expect(code).toBe(1);
  expect(stderr).not.toContain('snapshot');
  expect((await stage.ralph('ls').ended).stdout).toMatch(/it +iteration limit +1\/1/);
  expect((await stage.ralph('status', 'it').ended).stderr).toBe('');
});

it('is removed with its loop, and says nothing about another loop of its name', async () => {
  const stage = await endedLoop();
  falsify(stage);
  const file = stage.file('snapshot.json');
  await said(stage, 'rm', 'it');
  expect(existsSync(file)).toBe(false);
  expect(await said(stage, 'ls')).toContain('no loops in this workspace');
  expect(await said(stage, 'status', 'it')).toContain('no loop named "it"');
  await endedLoop(stage);
  expect(await said(stage, 'ls')).toMatch(/it +iteration limit +1\/1 .* iteration limit reached: 1 /);
});

it('shows times in the zone of the one who asks', async () => {
  const stage = await endedLoop(openStage());
  const asked = async (): Promise<string> => (await stage.process('status', 'it').ended).stdout;
  stage.env['TZ'] = 'UTC';
  const first = await asked();
  stage.env['TZ'] = 'Asia/Kolkata';
  const second = await asked();
  const minutes = (text: string): string => /Started: \S+ \d\d:(\d\d)/.exec(text)?.[1] ?? '';
  expect((Number(minutes(first)) + 30) % 60).toBe(Number(minutes(second)));
  expect(second.replaceAll(/.*tarted: .*\n/g, '')).toBe(first.replaceAll(/.*tarted: .*\n/g, ''));
});

it('is masked for the one who asks', async () => {
  const args = ['--tag', 'hunter2-hunter2', '--check', 'echo hunter2-hunter2'];
  const stage = await endedLoop(openLoadedStage(), ...args);
  const texts = async (): Promise<string> => `${await said(stage, 'ls')}${await said(stage, 'status', 'it')}`;
  expect((await texts()).match(/hunter2-hunter2/g)).toHaveLength(3);
  stage.env['MY_TOKEN'] = 'hunter2-hunter2';
  expect(await texts()).not.toContain('hunter2');
});
