import { describe, expect, it } from 'vitest';
import { play, policyOf } from '../../test/rig/play.ts';
import { exits, hangs } from '../../test/rig/world.ts';
import type { Happening, LoopEvent } from '../loop/event.ts';
import { learn, NOTHING_KNOWN } from '../loop/report.ts';
import type { PolicyInput } from '../loop/validate.ts';
import { LoopFolder } from '../home/home.ts';
import { BusPosts, type Post } from './bus-posts.ts';

const folder = new LoopFolder({ id: 'it-0a1b2c3d', name: 'it', workspace: '/w' }, '/state/it');
const conductor = (iterations: number): PolicyInput => ({ preset: 'conductor', limits: { iterations } });
const postsOf = (journal: readonly LoopEvent[]): readonly Post[] => {
  const posts = new BusPosts(folder, NOTHING_KNOWN.state);
  let known = NOTHING_KNOWN;
  return journal.flatMap((event) => {
    known = learn(known, event);
    return posts.take(event, known);
  });
};
/** Without those about single runs. */
const said = (journal: readonly LoopEvent[]): readonly string[] =>
  postsOf(journal)
    .filter(({ type }) => !type.startsWith('RUN_'))
    .map(({ type, body }) => `${type} ${body}`);
const PROBE: Happening = {
  type: 'probe.finished',
  key: 'probe:1:before',
  phase: 'before',
  markers: ['DONE'],
  problem: null,
  messages: [],
  fingerprint: null,
};
/** A loop of the preset whose DONE exists before the first run. */
const accepted: readonly Happening[] = [
  { type: 'loop.created', name: 'it', policy: policyOf(conductor(5)) },
  PROBE,
  { type: 'claim.made', iteration: 1, run: null, claim: { by: 'marker', text: 'DONE' } },
];
const isAccepted: Happening = { type: 'claim.accepted', iteration: 1, run: null, verified: false };
const journalOf = (...more: readonly Happening[]): readonly LoopEvent[] =>
  [...accepted, ...more].map((happening, at) => ({ ...happening, at }));
const ended = (outcome: Extract<Happening, { type: 'loop.ended' }>['outcome']): Happening => ({
  type: 'loop.ended',
  outcome,
});

describe('the posts of a loop', () => {
  it('S1.13 S1.24 S1.51 name every start and failure, and the completion (T003)', () => {
    const { journal } = play(conductor(9), { runs: [exits(1), exits(1, { leaves: { done: true } })] });
    expect(said(journal)).toEqual([
      'INFO starting root agent (restart #0)',
      'WARNING root agent failed on restart #0: agent exited with code 1',
      'INFO starting root agent (restart #1)',
      'WARNING root agent failed on restart #1: agent exited with code 1',
      'INFO task completed (DONE marker present, no active children)',
    ]);
  });

  it('say in every preset how a child loop ended, for the agent that started it', () => {
    const outcome = { type: 'done', verified: true, childrenLeft: [] } as const;
    const journal = [
      { type: 'loop.created', name: 'it', policy: policyOf({ preset: 'default' }) },
      { type: 'child.started', child: 'kid-1a2b3c4d' },
      { type: 'child.ended', child: 'kid-1a2b3c4d', outcome },
      { type: 'child.started', child: 'their-run', record: true },
      { type: 'child.ended', child: 'their-run' },
    ] satisfies readonly Happening[];
    expect(postsOf(journal.map((happening, at) => ({ ...happening, at })))).toEqual([
      { type: 'FACT', body: 'child loop kid ended: done', child: 'kid-1a2b3c4d' },
    ]);
  });

  it('S1.28 S1.51 end with an error at the limit (T011)', () => {
    const { journal } = play(conductor(2), { runs: [exits(1)] });
    expect(said(journal).at(-1)).toBe('ERROR task failed: max restarts (2) exceeded');
  });

  it('S1.42 S1.51 say why the loop ended otherwise', () => {
    expect(said(play(conductor(2), { runs: [exits(42)] }).journal).at(-1)).toBe(
      'INFO Wait-without-restart signal detected',
    );
    expect(said(journalOf(ended({ type: 'fatal', message: 'no space left' })))).toEqual([
      'ERROR task failed: no space left',
    ]);
    const stop = { type: 'stop', now: true, by: 'person' } as const;
    const stopped = play(conductor(2), { runs: [hangs()] }, [{ atMs: 500, control: stop }]);
    expect(said(stopped.journal)).toEqual(['INFO starting root agent (restart #0)']);
  });

  it('S1.51 S1.52 tell the wait for children, its end and its timeout (T022 T024)', () => {
    const [one, two] = ['one-0a1b2c3d', 'two-0a1b2c3d'];
    const children: readonly Happening[] = [
      { type: 'child.started', child: one },
      { type: 'child.started', child: two },
      isAccepted,
    ];
    const waiting = `INFO waiting for 2 children to complete: [${one} ${two}]`;
    const done = (childrenLeft: readonly string[]) => ended({ type: 'done', verified: false, childrenLeft });
    const finished = [
      { type: 'child.ended', child: one },
      { type: 'child.ended', child: two },
    ] as const;
    expect(said(journalOf(...children, ...finished, done([])))).toEqual([
      waiting,
      'FACT child loop one ended: lost',
      'FACT child loop two ended: lost',
      'INFO task completed (all children finished)',
    ]);
    expect(said(journalOf(...children, { type: 'timer.fired', key: 'children' }, done([one, two])))).toEqual([
      waiting,
      `WARNING timeout waiting for children after 5m0s: [${one} ${two}]`,
    ]);
    expect(said(journalOf(...children, ended({ type: 'stopped', by: 'person' })))).toEqual([
      waiting,
      'ERROR failed waiting for children: cancelled by a person',
    ]);
    // The record of a child that cannot be read is no reason to wait.
    const problem = { ...PROBE, childrenProblem: 'runs/x/run-info.yaml is no record' };
    expect(said([...journalOf(isAccepted), { ...problem, at: 9 }])).toEqual([
      'WARNING failed to enumerate children: runs/x/run-info.yaml is no record',
    ]);
    // One that registers after the claim was accepted.
    expect(said(journalOf(isAccepted, { type: 'child.started', child: one }))).toEqual([
      `INFO waiting for 1 children to complete: [${one}]`,
    ]);
  });

  it('S1.73 tell each run with its files once, and how it ended', () => {
    const { journal } = play(conductor(2), { runs: [exits(0), exits(3)] });
    const reattached = journal.flatMap((event): readonly LoopEvent[] =>
      event.type === 'run.started' ? [event, event] : [event],
    );
    const runs = postsOf(reattached).filter(({ type }) => type.startsWith('RUN_'));
    expect(runs.map(({ type, run }) => `${type} ${run}`)).toEqual([
      'RUN_START 1.1',
      'RUN_STOP 1.1',
      'RUN_START 2.1',
      'RUN_CRASH 2.1',
    ]);
    expect(runs[0]?.body).toBe(
      [
        'run_dir: /w/.ralph/loops/it/runs/0001',
        'prompt: /w/.ralph/loops/it/runs/0001/prompt.md',
        'stdout: /w/.ralph/loops/it/runs/0001/agent-stdout.txt',
        'stderr: /w/.ralph/loops/it/runs/0001/agent-stderr.txt',
        'output: /w/.ralph/loops/it/runs/0001/output.md',
      ].join('\n'),
    );
    expect(runs.map(({ body }) => body.split('\n')[0])).toMatchObject({
      1: 'exit_code: 0',
      3: 'exit_code: 3',
    });
  });

  it('are only the words of people in other presets', () => {
    const control = { type: 'tell', text: 'use bun' } as const;
    const tale = play({ preset: 'default', limits: { iterations: 2 } }, { runs: [exits(1), exits(0)] }, [
      { atMs: 0, control },
    ]);
    expect(said(tale.journal)).toEqual(['USER use bun']);
  });

  it('are the answers to questions, with the question as their parent, and defaults that apply', () => {
    const asked = (id: string): Happening => ({
      type: 'question.asked',
      id,
      text: 'which?',
      default: 'the first',
      timeoutMs: 1,
    });
    const answer = { type: 'answer', question: null, text: 'the second' } as const;
    const journal = journalOf(
      asked('MSG-1'),
      { type: 'control.received', id: 'x', control: answer },
      asked('MSG-2'),
      { type: 'timer.fired', key: 'answer:MSG-2' },
    );
    expect(postsOf(journal)).toEqual([
      { type: 'USER', body: 'the second', parents: [{ id: 'MSG-1', kind: 'answer' }] },
      { type: 'USER', body: 'the first', parents: [{ id: 'MSG-2', kind: 'default' }] },
    ]);
  });
});
