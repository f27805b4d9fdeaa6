/** Another process writes to the journal of a loop that runs: its owner gives up, and its own copy of the journal is used. */
import {
  appendFileSync,
  copyFileSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Ended } from './ralph.ts';
import { openStage, waitFor, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";

/** An agent that has done one iteration and works on the second, with a process that it has started. */
async function startLoop(stage: Stage, ...args: readonly string[]): Promise<ReturnType<Stage['starts']>> {
  stage.plans(1, 'echo first >a');
  stage.plans(2, `sleep 1000 & echo second >b; ${waitFor('never')}`);
  stage.plans(3, `echo third >c; ${DONE}`);
  const loop = stage.starts('-p', 'work', '--check', 'true', ...args);
  await stage.waitForCall(2);
  await stage.waitForEvents('run.started', 2);
  return loop;
}

/** Runs the commands that a message gives, as a person would copy them. */
async function follow(stage: Stage, advice: string): Promise<Ended> {
  return stage.shell(advice.replaceAll(/^ralph |(?<=&& )ralph /g, '$RALPH ')).ended;
}

const CHANGES: Readonly<Record<string, readonly [what: string, change: (path: string) => void]>> = {
  'replaced by an editor': [
    'replaced',
    (path) => {
      copyFileSync(path, `${path}~`);
      appendFileSync(`${path}~`, 'a line of a person\n');
      renameSync(`${path}~`, path);
    },
  ],
  emptied: ['changed', (path) => truncateSync(path, 0)],
};

describe.each(Object.entries(CHANGES))('a journal that was %s while the agent works', (_, [what, change]) => {
  it('ends the loop with 3 and leaves no process; the advice brings the loop back to where it was', async () => {
    const stage = openStage();
    const loop = await startLoop(stage);
    const journal = stage.file('journal.jsonl');
    const before = readFileSync(journal, 'utf8');
    change(journal);
    const { code, stderr } = await loop.ended;
    expect(code).toBe(3);
    expect(stage.running).toEqual([]);
    const told = new RegExp(
      `^ralph: error: cannot write \\S+/journal\\.jsonl: another process has ${what} it; an intact copy of what its owner wrote is \\S+\\n {2}put it back with: (mv \\S+ \\S+)\\n {2}then resume with: (ralph resume it)\\n`,
      'm',
    );
    expect(stderr).toMatch(told);
    const [, putBack = '', resume = ''] = told.exec(stderr) ?? [];

    // A person who did not see it is told the same by the commands that look at the loop.
    const status = await stage.ralph('status', 'it').ended;
    expect(status.stdout).toContain(`Next: ${putBack}\n`);
    const refused = await stage.ralph('resume', 'it').ended;
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(`; put back the intact copy of its owner with: ${putBack}\n`);
    expect((await follow(stage, putBack)).code).toBe(0);
    expect(readFileSync(journal, 'utf8').startsWith(before)).toBe(true);
    expect((await stage.ralph('status', 'it').ended).stdout).not.toContain('intact');
    const resumed = await follow(stage, resume);
    expect({ code: resumed.code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    expect(stage.journal.filter(({ type }) => type === 'loop.created')).toHaveLength(1);
    // Its owner could not write that it has ended the second run, so the next one takes that for a failed run.
    expect(stage.state['current_iteration']).toBe(3);
    expect(readdirSync(dirname(journal)).filter((name) => name.includes('intact'))).toEqual([]);
  });
});

describe('a journal of a loop in the background', () => {
  it('that was damaged: the next command names the copy', async () => {
    const stage = openStage();
    stage.plans(1, waitFor('never'));
    expect(
      (await stage.ralph('run', '--name', 'it', '-p', 'work', '--detach', '--', stage.agent).ended).code,
    ).toBe(0);
    await stage.waitForCall(1);
    await stage.waitForEvents('run.started');
    const journal = stage.file('journal.jsonl');
    const [header, , ...lines] = readFileSync(journal, 'utf8').split('\n');
    writeFileSync(journal, [header, 'damage', ...lines].join('\n'));
    const waited = await stage.ralph('wait', 'it').ended;
    expect({ code: waited.code, calls: stage.calls }).toEqual({ code: 2, calls: 1 });
    const refused = await stage.ralph('resume', 'it').ended;
    expect(refused.code).toBe(2);
    const [, putBack = ''] =
      /journal\.jsonl:2: .*; put back the intact copy of its owner with: (mv \S+ \S+)\n/.exec(
        refused.stderr,
      ) ?? [];
    expect(waited.stdout).toMatch(/^it: \S+\/journal\.jsonl:2: this line is damaged: [^\n]+\n$/);
    expect(waited.stdout).toContain(putBack);
    stage.plans(2, DONE);
    expect((await follow(stage, putBack)).code).toBe(0);
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
  });
});

describe('a journal that was removed alone, without its folder', () => {
  it('is written again, and the loop goes on', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    const loop = stage.starts('-p', 'work', '-m', '1');
    await stage.waitForCall(1);
    await stage.waitForEvents('run.started');
    rmSync(stage.file('journal.jsonl'));
    await stage.waitForFile(stage.file('journal.jsonl'));
    stage.release();
    expect((await loop.ended).code).toBe(1);
    expect(stage.journal.at(0)?.type).toBe('loop.created');
    expect(stage.journal.at(-1)?.type).toBe('loop.ended');
  });
});
