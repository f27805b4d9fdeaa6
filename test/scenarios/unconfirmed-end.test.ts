/** A loop whose journal says that it is done, although no owner has confirmed that: a crash, or a forged event. */
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { crc32 } from 'node:zlib';
import { openLoadedStage, openStage, waitFor, type Stage } from './stage.ts';

const CLAIM = "echo '<promise>DONE</promise>'";
const DONE = { type: 'done', verified: true, childrenLeft: [] };

/** Appends an event with the right number and checksum, as an agent could that knows the format. */
function forge(stage: Stage, event: object): void {
  const path = stage.file('journal.jsonl');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const text = JSON.stringify({ ...event, at: stage.journal.at(-1)?.at });
  const sum = crc32(`${lines.length}:${text}`).toString(16).padStart(8, '0');
  appendFileSync(path, `{"n":${lines.length},"sum":"${sum}","event":${text}}\n`);
}

/** A loop whose owner was killed while its check ran for the second time, after the claim of its agent. */
async function killedAtCheck(stage: Stage): Promise<void> {
  stage.plans(1, 'echo first >a');
  stage.plans(2, `echo second >b; ${CLAIM}`);
  const check = `[ -e red ] && exit 1; [ -e b ] || exit 1; [ -e "$FAKE_PLAN/once" ] || { touch "$FAKE_PLAN/once"; ${waitFor()}; }`;
  const loop = stage.starts('-p', 'work', '-m', '4', '--check', check);
  await stage.waitForFile(`${stage.plan}/once`);
  loop.signal('SIGKILL');
  await loop.ended;
  stage.release();
}

describe('a loop with a forged end', () => {
  it('counts as crashed everywhere; its check runs on resume, rejects the claim, and the loop goes on', async () => {
    const stage = openStage();
    await killedAtCheck(stage);
    forge(stage, {
      type: 'check.finished',
      iteration: 2,
      run: '2.1',
      index: 0,
      command: 'x',
      result: { code: 0, timedOut: false, durationMs: 1, log: 'x' },
    });
    forge(stage, {
      type: 'claim.made',
      iteration: 2,
      run: '2.1',
      claim: { by: 'promise-tag', text: 'DONE' },
    });
    forge(stage, { type: 'claim.accepted', iteration: 2, run: '2.1', verified: true });
    forge(stage, { type: 'loop.ended', outcome: DONE });
    stage.write('red', '');

    const status = await stage.ralph('status', 'it').ended;
    expect(status.stdout).toContain('Status: crashed\n');
    expect(status.stdout).toMatch(
      /^Warning: the journal says that the loop is done, but the Ralph process that ran the loop did not confirm it; when the loop is resumed, Ralph judges the claim again$/m,
    );
    expect((await stage.ralph('ls').ended).stdout).toMatch(
      /^it +crashed .*the Ralph process that ran the loop did not confirm it/m,
    );
    const story = await stage.ralph('story', 'it').ended;
    expect(story.stdout.replaceAll(/\n +/g, ' ')).toMatch(
      /crashed: .*; the journal says that the loop is done, but .*\n.* in all: .*\n$/,
    );
    expect(story.stdout.replaceAll(/\n +/g, ' ').split('ralph resume it')).toHaveLength(2);
    const waited = await stage.ralph('wait', 'it').ended;
    expect(waited).toMatchObject({ code: 3, stdout: 'it: unfinished; continue it with: ralph resume it\n' });
    const replaced = await stage.ralph('run', '--name', 'it', '-p', 'work', '--', stage.agent).ended;
    expect(replaced.stderr).toContain('the loop "it" is not finished');

    stage.plans(3, `rm red; ${CLAIM}`);
    const resumed = await stage.ralph('resume', 'it').ended;
    expect(resumed.stderr).toContain(
      'the Ralph process that ran the loop did not confirm that it is done; Ralph judges the claim again\n',
    );
    expect({ code: resumed.code, calls: stage.calls }).toEqual({ code: 0, calls: 3 });
    const verdicts = stage.journal.filter(({ type }) => /^claim\.(?:acc|rej)/.test(type));
    expect(verdicts.map(({ type, iteration }) => `${type} ${String(iteration)}`)).toEqual([
      'claim.accepted 2',
      'claim.rejected 2',
      'claim.accepted 3',
    ]);
    // Now an owner has confirmed it.
    expect((await stage.ralph('status', 'it').ended).stdout).toContain('Status: done\n');
    const again = await stage.ralph('resume', 'it').ended;
    expect(again.stderr).toContain('loop it is already done');
  });

  it('written while the agent still runs: the run is adopted, and judged when it ends', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    stage.plans(2, `touch b; ${CLAIM}`);
    const loop = stage.starts('-p', 'work', '-m', '4', '--check', '[ -e b ]');
    await stage.waitForCall(1);
    await stage.waitForEvents('run.started');
    loop.signal('SIGKILL');
    await loop.ended;
    forge(stage, { type: 'loop.ended', outcome: DONE });
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('without checks is no end either unless its agent has claimed it', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    stage.plans(2, CLAIM);
    const loop = stage.starts('-p', 'work', '-m', '4');
    await stage.waitForCall(1);
    await stage.waitForEvents('run.started');
    loop.signal('SIGKILL');
    await loop.ended;
    forge(stage, { type: 'loop.ended', outcome: DONE });
    stage.release();
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });
});

describe('a loop whose owner died between the last event and the note of its end', () => {
  it('is done after its checks have passed once more, without another run of the agent', async () => {
    const stage = openLoadedStage();
    stage.plans(1, CLAIM);
    await stage.run('-p', 'work', '--check', 'echo x >>"$FAKE_PLAN/checked"');
    // What a kill in this moment leaves.
    rmSync(stage.file('ended'));
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stderr).toContain(
      'the Ralph process that ran the loop did not confirm that it is done; Ralph judges the claim again\n',
    );
    expect(readFileSync(`${stage.plan}/checked`, 'utf8')).toBe('x\nx\n');
    expect(existsSync(stage.file('ended'))).toBe(true);
    expect((await stage.ralph('status', 'it').ended).stdout).toContain('Status: done\n');
  });

  it('is done again without checks if its agent has claimed it', async () => {
    const stage = openLoadedStage();
    stage.plans(1, CLAIM);
    await stage.run('-p', 'work');
    // A note of another length does not confirm this end.
    writeFileSync(stage.file('ended'), '7\n');
    expect((await stage.ralph('status', 'it').ended).stdout).toContain('Status: crashed\n');
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(1);
  });
});

describe('a loop whose owner could not write its fatal end', () => {
  it('goes on with one resume, because the reason may be gone', async () => {
    const stage = openStage();
    stage.plans(1, waitFor());
    stage.plans(2, CLAIM);
    const loop = stage.starts('-p', 'work', '-m', '2');
    await stage.waitForEvents('run.started');
    await stage.waitForCall(1);
    loop.signal('SIGKILL');
    await loop.ended;
    stage.release();
    await stage.until('no agent', () => stage.running.length === 0);
    const error = { kind: 'disk-full', message: 'no space left on the disk' };
    forge(stage, {
      type: 'run.ended',
      run: '1.1',
      ending: { how: 'exited', code: null, error },
      as: 'fatal',
      jitter: 0.5,
    });
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
    expect(stage.calls).toBe(2);
    expect(stage.journal.map(({ type }) => type)).toEqual(expect.arrayContaining(['loop.reopened']));
  });
});
