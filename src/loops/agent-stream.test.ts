import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { casesOf, RECORDED, recording, type Recorded } from '../../test/rig/agent-streams.ts';
import { openState, registerLoop, specFor } from '../../test/rig/loop-folder.ts';
import type { AgentEvent } from '../agents/agent.ts';
import { agentNamed } from '../agents/agents.ts';
import { thisProcess } from '../home/lock-owner.ts';
import type { LoopFolder } from '../home/home.ts';
import { lineOf } from '../journal/lines.ts';
import type { LoopEvent } from '../loop/event.ts';
import type { EventsFrom, Page, Told } from './events.ts';
import { refOf } from './find.ts';
import { localLoops } from './local-loops.ts';
import type { Call } from './loops.ts';

const started: LoopEvent = {
  type: 'run.started',
  run: '1.1',
  receipt: { pid: 1, startTime: '1', bootId: 'b', pidNamespace: 'n' },
  at: 2,
};
const ended: LoopEvent = {
  type: 'run.ended',
  run: '1.1',
  ending: { how: 'exited', code: 0, error: null },
  as: 'ok',
  jitter: 0,
  at: 3,
};
const KEY = 'abcdefgh12345678';
const MINUTE = 60_000;

let workspace: string;
beforeEach(() => {
  workspace = openState();
});

/** A loop with one run that is open. */
function loopOf(kind: string, before: readonly LoopEvent[] = []): LoopFolder {
  const folder = registerLoop(workspace, 'it', [...before, started], { agent: { kind, argv: ['x'] } });
  mkdirSync(folder.run('1.1'), { recursive: true });
  writeFileSync(join(folder.run('1.1'), 'stdout.log'), '');
  return folder;
}
const prints = (folder: LoopFolder, text: string | Buffer): void =>
  appendFileSync(join(folder.run('1.1'), 'stdout.log'), text);
const says = (folder: LoopFolder, text: string): void =>
  prints(folder, `${JSON.stringify({ type: 'text', text, message: 'm' })}\n`);
const endRun = ({ journal }: LoopFolder): void => appendFileSync(journal, lineOf(ended, 3));
const told = (folder: LoopFolder, from: EventsFrom['from'], call?: Call): Promise<Page> =>
  localLoops().events(refOf({ spec: specFor(folder) }), { from, agent: true }, call);

/** All that is told from a place on, page by page. Each page is asked for twice: the second time nothing of it is known any more. */
async function allOf(folder: LoopFolder, from: EventsFrom['from'] = null): Promise<readonly Told[]> {
  const all: Told[] = [];
  for (let at = from; ;) {
    // oxlint-disable-next-line no-await-in-loop -- one page after the other
    const page = await told(folder, at);
    // oxlint-disable-next-line no-await-in-loop -- as above
    expect(await told(folder, at)).toEqual(page);
    all.push(...page.told);
    if (page.after !== 'more') return all;
    at = page.next;
  }
}
const words = (all: readonly Told[]): string =>
  all.map((one) => (one.is === 'agent' && one.event.type === 'text' ? one.event.text : '')).join('');
const typesOf = (all: readonly Told[]): readonly string[] =>
  all.map((one) => (one.is === 'snapshot' ? one.is : one.event.type));

const streams = RECORDED.flatMap((agent) =>
  casesOf(agent)
    .slice(0, 5)
    .map((name): [Recorded, string] => [agent, name]),
);

describe('what an agent does', () => {
  it.each(streams)('is told between the start and the end of its run: %s %s', async (agent, name) => {
    const folder = loopOf(agent);
    const bytes = recording(agent, name);
    const parser = agentNamed(agent).read({ startedAt: 2, folder: folder.run('1.1') });
    const expected = joined([...parser.push(Buffer.from(bytes)), ...parser.end()]);
    // While it prints, and once it has ended.
    const half = Math.floor(bytes.length / 2);
    prints(folder, bytes.subarray(0, half));
    const first = await told(folder, null);
    prints(folder, bytes.subarray(half));
    endRun(folder);
    const rest = await allOf(folder, first.next);
    const all = await allOf(folder);
    for (const one of [[...first.told, ...rest], all]) {
      expect(typesOf(one).filter((type) => type.includes('run.') || type.includes('loop.'))).toEqual([
        'loop.created',
        'run.started',
        'run.ended',
      ]);
      expect(typesOf(one).at(-1)).toBe('run.ended');
      expect(joined(one.flatMap((each) => (each.is === 'agent' ? [each.event] : [])))).toEqual(expected);
    }
  });

  it('is waited for', async () => {
    const folder = loopOf('scripted');
    writeFileSync(folder.lock, JSON.stringify(thisProcess()));
    const { next } = await told(folder, null);
    const waiting = told(folder, next, { wait: MINUTE });
    const line = JSON.stringify({ type: 'text', text: 'hello\n' });
    prints(folder, line.slice(0, 10));
    prints(folder, `${line.slice(10)}\n`);
    const page = await waiting;
    expect(words(page.told)).toBe('hello\n');
    const more = told(folder, page.next, { wait: MINUTE });
    endRun(folder);
    expect(typesOf((await more).told)).toEqual(['run.ended']);
  });

  it('has no secret, nor have two of its events together', async () => {
    vi.stubEnv('THE_API_KEY', KEY);
    onTestFinished(() => void vi.unstubAllEnvs());
    const folder = loopOf('scripted');
    says(folder, `a ${KEY} b ${KEY.slice(0, 9)}`);
    const first = await told(folder, null);
    expect(words(first.told)).toBe('a <redacted> b ');
    says(folder, `${KEY.slice(9)} c `);
    const second = await told(folder, first.next);
    expect(words(second.told)).toBe('<redacted> c ');
    prints(folder, `${JSON.stringify({ type: 'tool.start', id: '1', name: 'sh', input: KEY })}\n`);
    endRun(folder);
    const all = JSON.stringify(await allOf(folder));
    expect(all).not.toContain(KEY.slice(0, 9));
    expect(all).not.toContain(KEY.slice(9));
    expect(all).toContain('"input":"<redacted>"');
  });

  it('tells the last word after a pause, once', async () => {
    const folder = loopOf('scripted');
    writeFileSync(folder.lock, JSON.stringify(thisProcess()));
    says(folder, 'half a wo');
    const first = await told(folder, null, { wait: MINUTE });
    expect(words(first.told)).toBe('half a ');
    const second = await told(folder, first.next, { wait: MINUTE });
    expect(words(second.told)).toBe('wo');
    says(folder, 'rd\n');
    expect(words(await allOf(folder, second.next))).toBe('rd\n');
  });

  it('of one run is told alone', async () => {
    const folder = loopOf('scripted');
    says(folder, 'first\n');
    endRun(folder);
    const { told: all, after } = await localLoops().events(refOf({ spec: specFor(folder) }), {
      from: null,
      run: '1.1',
    });
    expect({ types: typesOf(all), words: words(all), after }).toEqual({
      types: ['text'],
      words: 'first\n',
      after: 'rest',
    });
  });

  it('is told in pages if it is much, also of several runs', async () => {
    const folder = loopOf('scripted');
    const lines = Array.from({ length: 9000 }, (_, index) => `line ${index} ${'x'.repeat(60)}\n`);
    for (const line of lines) says(folder, line);
    endRun(folder);
    const second: LoopEvent = { ...started, run: '2.1' };
    appendFileSync(folder.journal, lineOf(second, 4));
    mkdirSync(folder.run('2.1'), { recursive: true });
    writeFileSync(
      join(folder.run('2.1'), 'stdout.log'),
      `${JSON.stringify({ type: 'text', text: 'second' })}\n`,
    );
    const all = await allOf(folder);
    expect(words(all)).toBe(`${lines.join('')}second`);
    appendFileSync(folder.journal, lineOf({ ...ended, run: '2.1' }, 5));
    const whole = await allOf(folder);
    expect(words(whole)).toBe(`${lines.join('')}second`);
    expect(whole.flatMap((one) => (one.is === 'event' ? [one.number] : []))).toEqual([1, 2, 3, 4, 5]);
  });

  it('goes on where it was after another owner has reattached to the agent', async () => {
    const folder = loopOf('scripted');
    says(folder, 'early\n');
    const first = await told(folder, null);
    appendFileSync(folder.journal, lineOf({ type: 'owner.changed', owner: 'x', at: 3 }, 3));
    appendFileSync(folder.journal, lineOf(started, 4));
    says(folder, 'late\n');
    const rest = await allOf(folder, first.next);
    expect(words([...first.told, ...rest])).toBe('early\nlate\n');
    expect(words(await allOf(folder))).toBe('early\nlate\n');
  });

  it('begins with the open run for a reader that begins with what the loop is now', async () => {
    const planned: LoopEvent = {
      type: 'run.planned',
      run: '1.1',
      purpose: 'work',
      guidance: [],
      prompt: null,
      at: 1,
    };
    const before: readonly LoopEvent[] = [{ type: 'iteration.started', iteration: 1, at: 1 }, planned];
    const folder = loopOf('scripted', before);
    says(folder, 'early\n');
    const first = await told(folder, 'snapshot');
    expect(first.told).toMatchObject([
      { is: 'snapshot', number: 4, state: { iteration: 1 }, report: { startedAt: 0 } },
    ]);
    appendFileSync(folder.journal, lineOf(ended, 5));
    expect(typesOf(await allOf(folder, first.next))).toEqual(['text', 'run.ended']);
    expect(typesOf(await allOf(folder, 'snapshot'))).toEqual(['snapshot']);
    writeFileSync(folder.journal, 'damaged');
    await expect(told(folder, 'snapshot')).rejects.toThrow('journal.jsonl');
  });

  it('ends where the output ends, also for a reader that says it has had more', async () => {
    const folder = loopOf('scripted');
    says(folder, 'x\n');
    const { next } = await told(folder, null);
    const agent = { run: '1.1', startedAt: 2, bytes: Number.MAX_SAFE_INTEGER };
    expect((await told(folder, { ...next, agent })).told).toEqual([]);
  });

  it('is not read again for a call that was aborted', async () => {
    const folder = loopOf('scripted');
    for (let at = 0; at < 5000; at++) says(folder, `${at} ${'x'.repeat(60)}\n`);
    const { next } = await told(folder, null);
    await told(folder, next);
    const again = await told(folder, next, { signal: AbortSignal.abort() });
    expect(again).toEqual({ told: [], next: { ...next, after: 'more' }, after: 'more' });
  });

  it('is not told to a reader that has not asked for it', async () => {
    const folder = loopOf('scripted');
    says(folder, 'x');
    const { told: all } = await localLoops().events(refOf({ spec: specFor(folder) }), { from: null });
    expect(typesOf(all)).toEqual(['loop.created', 'run.started']);
  });
});

/** Words that follow each other make one event, in whatever pieces they come. */
function joined(events: readonly AgentEvent[]): readonly AgentEvent[] {
  const all: AgentEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    const isText = event.type === 'text' && last?.type === 'text' && event.message === last.message;
    if (isText) all[all.length - 1] = { ...last, text: last.text + event.text };
    else if (event.type === 'thought' && last?.type === 'thought')
      all[all.length - 1] = { ...last, text: last.text + event.text };
    else if (!('text' in event) || event.text !== '') all.push(event);
  }
  return all;
}
