/** The journal of a loop was damaged, or something else is in its place: every command says the same about it. */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const NO_FILE = 'cannot read JOURNAL: it is not a regular file';
const FAULTS: Readonly<Record<string, readonly [make: (path: string) => void, what: string]>> = {
  'a folder': [(path) => mkdirSync(path), NO_FILE],
  'a link to it': [
    (path) => symlinkSync(`${path}.before`, path),
    'cannot read JOURNAL: it is a symbolic link',
  ],
  'a link to nothing': [
    (path) => symlinkSync('/nowhere', path),
    'cannot read JOURNAL: it is a symbolic link',
  ],
  'a FIFO': [(path) => void execFileSync('mkfifo', [path]), NO_FILE],
  damaged: [
    (path) => {
      const [header, , ...lines] = readFileSync(`${path}.before`, 'utf8').split('\n');
      writeFileSync(path, [header, 'damage', ...lines].join('\n'));
    },
    'JOURNAL:2: this line is damaged: its number or checksum is wrong, and intact lines follow it',
  ],
};

/** How each command exits; what it says is on stdout only for those that show a state. */
const COMMANDS: readonly (readonly [command: string, code: number])[] = [
  ['wait it', 2],
  ['story it', 2],
  ['story it --json', 2],
  ['status it', 2],
  ['status it --json', 2],
  ['status', 2],
  ['ls', 0],
  ['ls --json', 0],
  ['resume it', 2],
  ['stop it', 2],
  ['kill it', 2],
  ['pause it', 2],
  ['tell it something', 2],
  ['answer it something', 2],
  ['set it max-cost=5', 2],
  ['attach it', 2],
  ['run --name it -p again -- true', 2],
  ['logs it', 0],
  ['diff it', 0],
  ['rewind it 1', 0],
];

async function endedLoop(): Promise<{
  readonly stage: Stage;
  readonly journal: string;
  readonly content: string;
}> {
  const stage = openLoadedStage();
  stage.plans(1, 'echo one >one.txt');
  await stage.run('-p', 'work', '-m', '1');
  const journal = stage.file('journal.jsonl');
  return { stage, journal, content: readFileSync(journal, 'utf8') };
}

type Answer = readonly [command: string, code: unknown, text: string];

/** What the commands say, in the order of the table. */
async function answers(stage: Stage, journal: string): Promise<readonly Answer[]> {
  const said: Answer[] = [];
  for (const [command] of COMMANDS) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: each must leave everything as it was
    const { code, stdout, stderr } = await stage.ralph(...command.split(' ')).ended;
    const text = command.endsWith('--json')
      ? (stdout + stderr).replaceAll(String.raw`\"`, '"')
      : stdout + stderr;
    said.push([command, code, text.replaceAll(journal, 'JOURNAL').replaceAll('journal.jsonl', 'JOURNAL')]);
  }
  return said;
}

function expectSame(said: readonly Answer[], advice: string): void {
  for (const [command, code, text] of said) {
    expect({ command, code, text }).toEqual({ command, code: new Map(COMMANDS).get(command), text });
    expect({ command, says: text.includes(advice), text }).toEqual({ command, says: true, text });
    expect(text).not.toMatch(/internal error|^ +at /m);
  }
}

describe.each(Object.entries(FAULTS))('a journal that is %s', (fault, [make, what]) => {
  it('is reported by every command with the same advice', async () => {
    const { stage, journal } = await endedLoop();
    renameSync(journal, `${journal}.before`);
    make(journal);
    expectSame(
      await answers(stage, journal),
      `${what}; restore the file from a backup, or remove the loop with: ralph rm it`,
    );
    const story = await stage.ralph('story', 'it').ended;
    expect(story.stderr).toMatch(/^ralph: error: [^\n]+\n$/);
  });

  it('is reported with the intact copy of its owner, and the command puts it back', async () => {
    const { stage, journal, content } = await endedLoop();
    copyFileSync(journal, `${journal}.before`);
    renameSync(journal, `${journal}.intact-1`);
    make(journal);
    const remove = fault === 'a folder' ? 'rm -r JOURNAL && ' : '';
    expectSame(
      await answers(stage, journal),
      `${what}; put back the intact copy of its owner with: ${remove}mv JOURNAL.intact-1 JOURNAL`,
    );
    expect((await stage.ralph('story', 'it').ended).stdout).toBe('');
    const { stderr } = await stage.ralph('resume', 'it').ended;
    const [, command = 'false'] = /put back the intact copy of its owner with: (.*)\n/.exec(stderr) ?? [];
    expect((await stage.shell(command).ended).code).toBe(0);
    expect(readFileSync(journal, 'utf8')).toBe(content);
    expect((await stage.ralph('story', 'it').ended).code).toBe(0);
  });
});

describe('a journal that is gone', () => {
  it('is put back if its owner has kept an intact copy', async () => {
    const { stage, journal } = await endedLoop();
    renameSync(journal, `${journal}.intact-1`);
    expectSame(
      await answers(stage, journal),
      'cannot read JOURNAL: no such file or folder; put back the intact copy of its owner with: mv JOURNAL.intact-1 JOURNAL',
    );
    rmSync(`${journal}.intact-1`);
    const { code, stderr } = await stage.ralph('story', 'it').ended;
    expect(code).toBe(2);
    expect(stderr).toContain('only the remains of a loop');
  });
});
