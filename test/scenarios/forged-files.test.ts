import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { rewriteJournal } from './rewrite-journal.ts';
import { openLoadedStage, waitFor, type Stage } from './stage.ts';

/** A loop whose check fails, with an agent that waits for `release()`. */
async function startRedLoop(stage: Stage): Promise<ReturnType<Stage['starts']>> {
  stage.plans(1, waitFor());
  const loop = stage.starts('-p', 'work', '-m', '1', '--check', 'false');
  await stage.waitForCall(1);
  return loop;
}

/** Puts a complete file into the inbox, as `ralph` does. */
function drop(stage: Stage, name: string, content: unknown, size = 0): void {
  const draft = `${stage.plan}/${name}.json`;
  writeFileSync(draft, JSON.stringify(content));
  if (size > 0) truncateSync(draft, size);
  renameSync(draft, stage.file(`inbox/${name}.json`));
}

const rejected = (stage: Stage, name: string): Promise<void> =>
  stage.waitForFile(stage.file(`inbox/rejected/${name}.json`));

describe('a message of another process', () => {
  it('with a type that is no text is rejected, and every command still works', async () => {
    const stage = openLoadedStage();
    const loop = await startRedLoop(stage);
    drop(stage, 'forged', { type: ['tell'], text: 'x' });
    await rejected(stage, 'forged');
    for (const args of [['status', 'it'], ['ls'], ['ls', '--all']]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const { code, stdout, stderr } = await stage.ralph(...args).ended;
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
      expect(stdout).toMatch(/\bit\b/);
    }
    stage.release();
    const ended = await loop.ended;
    expect(ended.code).toBe(1);
    expect(ended.stderr.match(/rejected the message \S+forged\.json: type must be one of/g)).toHaveLength(1);
    expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(1);
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(stage.loops).toEqual([]);
  });

  it('without limits, a pipe, a link and a file of 1 TB do not make the owner deaf', async () => {
    const stage = openLoadedStage();
    const loop = await startRedLoop(stage);
    execFileSync('mkfifo', [stage.file('inbox/b.json')]);
    symlinkSync('/dev/zero', stage.file('inbox/c.json'));
    drop(stage, 'd', { type: 'pause' }, 2 ** 40);
    drop(stage, 'a', { type: 'set' });
    await rejected(stage, 'a');
    const told = await stage.ralph('tell', 'it', 'the owner still listens').ended;
    expect(told.stdout).toMatch(/^delivered to it/);
    const raised = await stage.ralph('set', 'it', 'max-iterations=2').ended;
    expect(raised.stdout).toMatch(/^set for it/);
    stage.release();
    expect((await loop.ended).code).toBe(1);
    expect(stage.given(2, 'stdin')).toContain('the owner still listens');
    expect(stage.calls).toBe(2);
    expect(readdirSync(stage.file('inbox/rejected')).toSorted()).toEqual([
      'a.json',
      'b.json',
      'c.json',
      'd.json',
    ]);
  });

  it('that wants to end a red loop as waiting changes nothing', async () => {
    const stage = openLoadedStage();
    const loop = await startRedLoop(stage);
    drop(stage, 'forged', { type: 'abort', message: 'all is well', as: 'waiting' });
    await rejected(stage, 'forged');
    stage.release();
    const { code, stderr } = await loop.ended;
    expect(code).toBe(1);
    expect(stderr).toContain(
      'forged.json: type must be one of pause, resume, stop, tell, answer, set, got "abort"',
    );
    expect(stage.state['outcome']).toEqual({ type: 'iterations-exhausted', limit: 1 });
    expect(stage.journal.filter(({ type }) => type === 'control.received')).toEqual([]);
  });
});

/** Ways to break a loop, and what the lists say about it. */
const BREAKAGES: Readonly<Record<string, readonly [(stage: Stage) => void, RegExp]>> = {
  'a spec that is no JSON': [
    (stage) => writeFileSync(stage.file('spec.json'), '{"version":1'),
    /cannot read .*spec\.json: it is not JSON/,
  ],
  'a spec with fields of other types': [
    (stage) => writeFileSync(stage.file('spec.json'), '{"version":1,"id":{},"agent":null,"name":["it"]}'),
    /cannot read .*spec\.json: id must be the id of a loop, got \{\}/,
  ],
  'a spec that is missing': [
    (stage) => rmSync(stage.file('spec.json')),
    /cannot read .*spec\.json: no such file/,
  ],
  'a spec that is a pipe': [
    (stage) => {
      rmSync(stage.file('spec.json'));
      execFileSync('mkfifo', [stage.file('spec.json')]);
    },
    /cannot read .*spec\.json: it is not a regular file/,
  ],
  'a journal that is a folder': [
    (stage) => {
      rmSync(stage.file('journal.jsonl'));
      mkdirSync(stage.file('journal.jsonl'));
    },
    /cannot read .*journal\.jsonl: it is not a regular file/,
  ],
  'a journal of another program': [
    (stage) => writeFileSync(stage.file('journal.jsonl'), 'hello\n'),
    /journal\.jsonl:1: this line is damaged/,
  ],
  'events that no version writes': [
    (stage) =>
      rewriteJournal(stage, (event) => (event.type === 'loop.ended' ? { ...event, outcome: 7 } : event)),
    /journal\.jsonl:\d+: no version of ralph writes this event here/,
  ],
  'a control that an earlier version believed': [
    (stage) =>
      rewriteJournal(stage, (event) =>
        event.type === 'iteration.started'
          ? { type: 'control.received', id: 'x', control: { type: ['tell'] }, at: event.at }
          : event,
      ),
    /journal\.jsonl:\d+: no version of ralph writes this event here/,
  ],
  'an end that cannot be read': [
    (stage) => appendFileSync(stage.file('journal.jsonl'), Buffer.alloc(1000)),
    /iteration limit reached: 1 .*; the last 1000 bytes of .*journal\.jsonl were not written completely/,
  ],
  'a snapshot, a lock and an inbox that are something else': [
    (stage) => {
      writeFileSync(stage.file('snapshot.json'), '{"shape":"3","state":null}');
      rmSync(stage.file('lock'));
      mkdirSync(stage.file('lock'));
      rmSync(stage.file('inbox'), { recursive: true });
      writeFileSync(stage.file('inbox'), 'a file');
    },
    /iteration limit reached: 1/,
  ],
};

describe('a broken loop', () => {
  it('is listed with what is wrong, and the other loops as usual', async () => {
    const stage = openLoadedStage();
    await stage.run('-p', 'work', '-m', '1');
    await stage.ralph('run', '--name', 'other', '-p', 'work', '-m', '1', '--', stage.agent).ended;
    const folder = dirname(stage.file('spec.json'));
    const copy = `${stage.plan}/intact`;
    execFileSync('cp', ['-a', folder, copy]);
    for (const [breakage, [breakIt, says]] of Object.entries(BREAKAGES)) {
      breakIt(stage);
      const lists = [['ls', '--all'], ...(breakage.startsWith('a spec that is no') ? [['ls']] : [])];
      for (const args of lists) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
        const { code, stdout, stderr } = await stage.ralph(...args).ended;
        expect({ breakage, args, code, stderr }).toEqual({ breakage, args, code: 0, stderr: '' });
        const line = stdout.split('\n').find((one) => one.startsWith('it ')) ?? '';
        const others = /^other +iteration limit/m.test(stdout);
        expect({ breakage, args, others, line: says.test(line) ? says : line }).toEqual({
          breakage,
          args,
          others: true,
          line: says,
        });
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      const one = await stage.ralph('status', 'it').ended;
      const code = says.source.startsWith('iteration limit') ? 1 : 2;
      expect({ breakage, code: one.code, stderr: one.stderr }).toEqual({ breakage, code, stderr: '' });
      rmSync(folder, { recursive: true });
      execFileSync('cp', ['-a', copy, folder]);
    }
  }, 60_000);

  it('with an unusable end of its journal is resumed without it, and the bytes are kept', async () => {
    const stage = openLoadedStage();
    await stage.run('-p', 'work', '-m', '1');
    const intact = readFileSync(stage.file('journal.jsonl'));
    const end = Buffer.concat([Buffer.from('half a line\n'), Buffer.alloc(10 * 2 ** 20)]);
    appendFileSync(stage.file('journal.jsonl'), end);
    const shown = await stage.ralph('status', 'it').ended;
    expect(shown.stdout).toMatch(/^Warning: the last 10485772 bytes of \S+journal\.jsonl were not written/m);
    expect(statSync(stage.file('journal.jsonl')).size).toBe(intact.length + end.length);

    const resumed = await stage.ralph('resume', 'it', '-m', '2').ended;
    expect({ code: resumed.code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    const [, kept = ''] = /warning: the last 10485772 bytes of .* kept in (\S+)/.exec(resumed.stderr) ?? [];
    expect(readFileSync(kept).equals(end)).toBe(true);
    expect(statSync(kept).mode & 0o777).toBe(0o600);
    expect(readFileSync(stage.file('journal.jsonl')).subarray(0, intact.length).equals(intact)).toBe(true);
    expect((await stage.ralph('status', 'it').ended).stdout).not.toContain('Warning');
  });

  it('whose inbox is a file is resumed, and hears messages again', async () => {
    const stage = openLoadedStage();
    await stage.run('-p', 'work', '-m', '1');
    renameSync(stage.file('inbox'), `${stage.plan}/old-inbox`);
    writeFileSync(stage.file('inbox'), 'a file');
    stage.plans(2, waitFor());
    const loop = stage.ralph('resume', 'it', '-m', '2');
    await stage.waitForCall(2);
    expect((await stage.ralph('stop', 'it', '--now').ended).stdout).toMatch(/^stopping it now/);
    const { stderr } = await loop.ended;
    expect(stderr).toMatch(/warning: \S+inbox is not a folder/);
  });
});
