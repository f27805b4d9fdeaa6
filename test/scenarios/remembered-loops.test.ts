/* oxlint-disable no-await-in-loop -- the commands run one after the other */
/** `ralph ls` and `ralph status` without a name remember what they said about loops that have ended, and never say anything else because of it. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rewriteJournal } from './rewrite-journal.ts';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const work = ['-p', 'work', '-m', '1'];
const root = (stage: Stage): string => join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph');

function rowsFile(stage: Stage): string {
  const folder = join(root(stage), 'rows');
  return join(folder, readdirSync(folder).find((name) => !name.startsWith('.')) ?? 'none');
}

/** A loop named `it` that has ended, with files that changed long enough ago to be remembered. */
async function endedLoop(stage: Stage = openLoadedStage(), ...args: readonly string[]): Promise<Stage> {
  await stage.run(...work, ...args);
  await settled(stage);
  return stage;
}

function settled(stage: Stage): Promise<void> {
  const files = ['journal.jsonl', 'spec.json', 'lock'].map((name) => join(stage.files('it').state, name));
  return stage.until('files that have not changed for a while', () =>
    files.every((file) => statSync(file).ctimeMs < Date.now() - 150),
  );
}

async function said(stage: Stage, ...args: readonly string[]): Promise<string> {
  const { stdout, stderr } = await stage.ralph(...args).ended;
  return `${stdout}${stderr}`;
}

/** Changes what is remembered, which shows whether the next answer comes from there. */
function falsify(file: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('iterations-exhausted', 'remembered'));
}

it('says the same about an ended loop again, without reading its journal', async () => {
  const stage = await endedLoop();
  for (const args of [['ls'], ['ls', '--all'], ['status'], ['status', 'it'], ['ls', '--cwd', '.']]) {
    const first = await said(stage, ...args);
    expect(first).toContain('iterations-exhausted');
    expect(await said(stage, ...args)).toBe(first);
  }
  falsify(rowsFile(stage));
  for (const args of [['ls'], ['ls', '--all'], ['status'], ['ls', '--cwd', '.']])
    expect(await said(stage, ...args)).toContain('remembered');
  expect((await stage.ralph('status', 'it').ended).code).toBe(1);
  expect(statSync(rowsFile(stage)).mode & 0o777).toBe(0o600);
  // Other forms read the loop.
  expect(await said(stage, 'ls', '--json')).not.toContain('remembered');
  expect(await said(stage, 'status', 'it', '--json')).not.toContain('remembered');
});

it('reads a loop again whose journal, spec or lock has changed', async () => {
  const stage = await endedLoop();
  const remember = async (): Promise<void> => {
    await settled(stage);
    await said(stage, 'ls');
    await said(stage, 'status', 'it');
    falsify(rowsFile(stage));
    expect(await said(stage, 'ls')).toContain('remembered');
  };
  for (const name of ['journal.jsonl', 'spec.json', 'lock']) {
    await remember();
    const path = join(stage.files('it').state, name);
    writeFileSync(path, readFileSync(path));
    expect(await said(stage, 'ls')).not.toContain('remembered');
    expect(await said(stage, 'status', 'it')).not.toContain('remembered');
  }
  await remember();
  await stage.ralph('resume', 'it', '-m', '2').ended;
  expect(await said(stage, 'ls')).toMatch(/it +iterations-exhausted +2\/2/);
  expect(await said(stage, 'status', 'it')).toContain('Iteration: 2/2\n');
});

it('looks at a loop that runs, also if it had ended before', async () => {
  const stage = await endedLoop(openStage());
  await said(stage, 'ls');
  await said(stage, 'status', 'it');
  stage.plans('default', waitFor());
  const ralph = stage.process('resume', 'it', '-m', '2');
  await stage.waitForCall(2);
  await settled(stage);
  for (let time = 0; time < 2; time++) {
    expect(await said(stage, 'ls')).toMatch(new RegExp(`it +running +2/2 +${ralph.pid}`));
    const { code, stdout } = await stage.ralph('status', 'it').ended;
    expect(stdout).toContain('Status: running\n');
    expect(code).toBe(0);
  }
  stage.release();
  await ralph.ended;
  expect(await said(stage, 'ls')).toMatch(/it +iterations-exhausted +2\/2 +-/);
});

it('looks at a loop that crashed', async () => {
  const stage = openStage();
  stage.plans('default', waitFor());
  const ralph = stage.starts(...work);
  await stage.waitForCall(1);
  await settled(stage);
  ralph.signal('SIGKILL');
  await ralph.ended;
  expect(await said(stage, 'ls')).toMatch(/it +crashed .*its agent \(process \d+\) is still running/);
  stage.killAll();
  expect(await said(stage, 'ls')).toMatch(/it +crashed .*no process runs it\n/);
});

it('ignores files that are damaged, foreign or none', async () => {
  const stage = await endedLoop();
  const [row, status] = [await said(stage, 'ls'), await said(stage, 'status', 'it')];
  const files = [rowsFile(stage)];
  const intact = files.map((file) => readFileSync(file, 'utf8'));
  const damages: readonly ((text: string) => string)[] = [
    () => '',
    () => 'null',
    () => '[]',
    () => '{"program":null,"answers":null}',
    (text) => text.slice(0, -20),
    (text) => text.replace('"program":"', '"program":"x'),
    (text) => text.replaceAll(/"stamp":"[^"]*"/g, '"stamp":1'),
    (text) => text.replaceAll(/"texts":\[/g, '"texts":[{},'),
    (text) => text.replaceAll(/"texts":\[[^\]]*\]/g, '"texts":[]'),
    (text) => text.replaceAll(/"texts":\["[^"]*"/g, '"texts":["../../x"'),
  ];
  const check = async (): Promise<void> => {
    expect(await said(stage, 'ls')).toBe(row);
    expect(await said(stage, 'status', 'it')).toBe(status);
  };
  for (const damage of damages) {
    files.forEach((file, at) =>
      writeFileSync(file, damage((intact[at] ?? '').replaceAll('iterations-exhausted', 'remembered'))),
    );
    await check();
  }
  for (const file of files) {
    falsify(file);
    chmodSync(file, 0o622);
  }
  await check();
  for (const file of files) {
    rmSync(file);
    symlinkSync('/etc/passwd', file);
  }
  await check();
  for (const file of files) {
    rmSync(file);
    mkdirSync(file);
  }
  await check();
});

it('needs no place to write to', async () => {
  const stage = await endedLoop();
  writeFileSync(join(root(stage), 'rows'), '');
  for (let time = 0; time < 2; time++) {
    expect((await stage.ralph('ls').ended).stderr).toBe('');
    expect((await stage.ralph('status', 'it').ended).stderr).toBe('');
  }
});

it('gives the same answer to several commands at once', async () => {
  const stage = await endedLoop(openStage());
  const both = 'for i in 1 2 3 4 5 6; do $RALPH ls & $RALPH status it & done; wait';
  const { stdout, stderr } = await stage.shell(both).ended;
  expect(stderr).toBe('');
  expect(stdout.match(/^it +iterations-exhausted +1\/1 +- +iteration limit reached.*$/gm)).toHaveLength(6);
  expect(stdout.match(/^Status: iterations-exhausted$/gm)).toHaveLength(6);
  falsify(rowsFile(stage));
  expect(await said(stage, 'ls')).toContain('remembered');
  expect(readdirSync(join(root(stage), 'rows'))).toHaveLength(1);
});

it('forgets a loop that is removed, and reads another one of its name', async () => {
  const stage = await endedLoop();
  await said(stage, 'ls');
  await said(stage, 'status', 'it');
  const rows = rowsFile(stage);
  falsify(rows);
  await said(stage, 'rm', 'it');
  expect(await said(stage, 'ls')).toContain('no loops in this workspace');
  expect(await said(stage, 'status', 'it')).toContain('no loop named "it"');
  expect(existsSync(rows)).toBe(false);
  await endedLoop(stage);
  expect(await said(stage, 'ls')).toMatch(/it +iterations-exhausted/);
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

it('does not remember a reason with a moment in it, which is another text on the next day', async () => {
  const stage = await endedLoop();
  rewriteJournal(stage, (event) =>
    event.type === 'loop.ended'
      ? { ...event, outcome: { type: 'time-exhausted', limitMs: 1000, resetsAt: Date.now() + 3_600_000 } }
      : event,
  );
  await settled(stage);
  expect(await said(stage, 'ls')).toContain('the usage limit resets at ');
  expect(await said(stage, 'status', 'it')).toContain('the usage limit resets at ');
  expect(existsSync(join(root(stage), 'rows'))).toBe(false);
});

it('masks what is remembered for the one who asks, and remembers nothing that was masked', async () => {
  const stage = await endedLoop(openLoadedStage(), '--tag', 'hunter2-hunter2');
  const texts = async (): Promise<string> => `${await said(stage, 'ls')}${await said(stage, 'status', 'it')}`;
  stage.env['MY_TOKEN'] = 'hunter2-hunter2';
  expect(await texts()).not.toContain('hunter2');
  expect(existsSync(join(root(stage), 'rows'))).toBe(false);
  delete stage.env['MY_TOKEN'];
  expect(await texts()).toContain('hunter2');
  expect(readFileSync(rowsFile(stage), 'utf8')).toContain('hunter2');
  stage.env['MY_TOKEN'] = 'hunter2-hunter2';
  expect(await texts()).not.toContain('hunter2');
});

it('does not remember a loop whose files have just changed', async () => {
  const stage = await endedLoop();
  // In a minute, so that it has just changed however slow this machine is.
  const soon = new Date(Date.now() + 60_000);
  utimesSync(stage.file('lock'), soon, soon);
  expect(await said(stage, 'ls')).toContain('iterations-exhausted');
  expect(existsSync(join(root(stage), 'rows'))).toBe(false);
  expect(await said(stage, 'status', 'it')).toContain('iterations-exhausted');
});
