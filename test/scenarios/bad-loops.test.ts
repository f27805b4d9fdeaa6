import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const work = ['-p', 'work', '-m', '1'];

/** Commands that need a readable journal. */
const COMMANDS = [
  ['resume', 'it'],
  ['run', '--name', 'it', '-p', 'again', '--', 'true'],
  ['stop', 'it'],
  ['pause', 'it'],
  ['tell', 'it', 'something'],
  ['set', 'it', 'max-iterations=5'],
];

async function runAndCorrupt(stage: Stage, corrupt: (lines: string[]) => readonly string[]): Promise<string> {
  await stage.run(...work);
  const path = stage.file('journal.jsonl');
  const content = corrupt(readFileSync(path, 'utf8').split('\n')).join('\n');
  writeFileSync(path, content);
  return content;
}

/** The answers of all commands that need the journal. */
async function answers(stage: Stage, message: RegExp): Promise<readonly object[]> {
  const collected: object[] = [];
  for (const args of COMMANDS) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other: each must leave everything as it was
    const { code, stderr } = await stage.ralph(...args).ended;
    collected.push({
      command: args[0],
      code,
      hasMessage: message.test(stderr),
      lines: stderr.split('\n').length - 1,
    });
  }
  return collected;
}

const refusals = COMMANDS.map(([command]) => ({ command, code: 2, hasMessage: true, lines: 1 }));

describe('a journal', () => {
  const other =
    /journal\.jsonl has journal version (?:1|99), but this version of ralph reads only version 2; use the version of ralph that wrote it, or start a new loop with --fresh, which archives this one/;
  const damaged = /journal\.jsonl:4: this line is damaged/;
  const ofVersion = (version: number) => (lines: string[]) => [`{"journal":${version}}`, ...lines.slice(1)];
  const withDamage = (lines: string[]) =>
    lines.map((line, index) => (index === 3 ? line.replace('"type"', '"tpye"') : line));

  it.each([1, 99])('of version %i makes every command fail and stays unchanged', async (version) => {
    const stage = openLoadedStage();
    const content = await runAndCorrupt(stage, ofVersion(version));
    expect(await answers(stage, other)).toEqual(refusals);
    expect(readFileSync(stage.file('journal.jsonl'), 'utf8')).toBe(content);
    expect(stage.calls).toBe(1);
  });

  it('of another version is archived unchanged by --fresh, which starts a new loop', async () => {
    const stage = openLoadedStage();
    const content = await runAndCorrupt(stage, ofVersion(1));
    const { code } = await stage.run(...work, '--fresh');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    expect(stage.archive.map((loop) => readFileSync(`${loop}/journal.jsonl`, 'utf8'))).toEqual([content]);
  });

  it('damaged in the middle makes resume name the line and stays unchanged', async () => {
    const stage = openLoadedStage();
    const content = await runAndCorrupt(stage, withDamage);
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect(code).toBe(2);
    expect(stderr).toMatch(damaged);
    expect(stderr).toContain('remove the loop with: ralph rm');
    const ls = await stage.ralph('ls').ended;
    expect(ls.stdout).toMatch(/^it +unreadable .* journal\.jsonl:4: this line is damaged/m);
    expect(readFileSync(stage.file('journal.jsonl'), 'utf8')).toBe(content);
  });

  it('damaged in the middle makes every command fail and stays unchanged', async () => {
    const stage = openLoadedStage();
    const content = await runAndCorrupt(stage, withDamage);
    expect(await answers(stage, damaged)).toEqual(refusals);
    expect(readFileSync(stage.file('journal.jsonl'), 'utf8')).toBe(content);
    expect(stage.calls).toBe(1);
  });

  it('that is unreadable is reported by status and ls, which still show the other loops', async () => {
    const stage = openLoadedStage();
    await stage.ralph('run', '--name', 'other', ...work, '--', stage.agent).ended;
    await runAndCorrupt(stage, ofVersion(1));
    const status = await stage.ralph('status', 'it').ended;
    expect(status.stdout + status.stderr).toMatch(other);
    expect(status.code).not.toBe(0);
    const list = await stage.ralph('ls').ended;
    expect(list.code).toBe(0);
    expect(list.stdout).toMatch(/^it +unreadable .*has journal version 1/m);
    expect(list.stdout).toMatch(/^other +iteration limit/m);
  });

  it('that is unreadable is archived unchanged by --fresh, which starts a new loop', async () => {
    const stage = openLoadedStage();
    const content = await runAndCorrupt(stage, withDamage);
    const { code } = await stage.run(...work, '--fresh');
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    expect(stage.archive.map((loop) => readFileSync(`${loop}/journal.jsonl`, 'utf8'))).toEqual([content]);
  });

  it('that is unreadable can be deleted with rm', async () => {
    const stage = openLoadedStage();
    await runAndCorrupt(stage, withDamage);
    expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    expect(stage.loops).toEqual([]);
  });

  it('with a torn last line is not damaged, and the loop resumes', async () => {
    const stage = openLoadedStage();
    await runAndCorrupt(stage, (lines) => [...lines.slice(0, -2), (lines.at(-2) ?? '').slice(0, 20)]);
    const { code } = await stage.ralph('resume', 'it').ended;
    expect(code).toBe(1);
    expect(stage.state['outcome']).toEqual({ type: 'iterations-exhausted', limit: 1 });
    expect(stage.calls).toBe(1);
  });
});

describe('a loop', () => {
  it('that is done rejects resume and pause, and prints how to start it again', async () => {
    const stage = openLoadedStage();
    stage.plans(1, "echo '<promise>DONE</promise>'");
    await stage.run('-p', 'work');
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 2, calls: 1 });
    expect(stderr).toMatch(/^ralph: error: loop it is already done; .*ralph run --name it.*\n$/);
    expect((await stage.ralph('pause', 'it').ended).stderr).toBe(stderr);
  });

  it('that has ended rejects pause and set, and warns about stop', async () => {
    const stage = openLoadedStage();
    await stage.run(...work);
    for (const args of [
      ['pause', 'it'],
      ['set', 'it', 'max-iterations=3'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const { code, stderr } = await stage.ralph(...args).ended;
      expect({ args, code }).toEqual({ args, code: 2 });
      expect(stderr).toBe('ralph: error: loop it has ended; resume it with: ralph resume it\n');
    }
    const stop = await stage.ralph('stop', 'it').ended;
    expect(stop).toMatchObject({ code: 0, stderr: 'ralph: warning: loop it has already ended\n' });
  });

  it('rejects unknown settings and invalid values', async () => {
    const stage = openLoadedStage();
    await stage.run(...work);
    const bad = {
      'foo=1': /max-iterations.*got "foo=1"/,
      'maxIterations=7': /got "maxIterations=7" \(did you mean max-iterations\?\)/,
      'max-iterations': /KEY=VALUE.*got "max-iterations"/,
      'max-iterations=lots': /max-iterations must be a whole number >= 1, got "lots"/,
      'max-time=soon': /max-time must be a time.*got "soon"/,
      'max-output=big': /max-output must be a size.*got "big"/,
      'max-cost=-1': /max-cost must be an amount > 0 such as 5 or 0.50, got "-1"/,
    };
    for (const [setting, message] of Object.entries(bad)) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const { code, stderr } = await stage.ralph('set', 'it', setting).ended;
      expect({ setting, code }).toEqual({ setting, code: 2 });
      expect(stderr).toMatch(message);
      expect(stderr).toMatch(/^ralph: error: [^\n]+\n$/);
    }
  });

  it('lists its runs when the requested one does not exist', async () => {
    const stage = openLoadedStage();
    await stage.run(...work);
    const { code, stderr } = await stage.ralph('logs', 'it', '--run', '7').ended;
    expect(code).toBe(2);
    expect(stderr).toBe('ralph: error: loop it has no run 7 (runs: 0001)\n');
  });

  it('that hit its limit prints a resume command that works', async () => {
    const stage = openLoadedStage();
    const ended = await stage.run(...work);
    const [, next = ''] = /resume +ralph (.*)\n/.exec(ended.stderr) ?? [];
    expect(next).toBe('resume it -m 2');
    const { code } = await stage.ralph(...next.split(' ')).ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
    const again = await stage.ralph('resume', 'it').ended;
    expect({ code: again.code, calls: stage.calls }).toEqual({ code: 1, calls: 2 });
  });
});
