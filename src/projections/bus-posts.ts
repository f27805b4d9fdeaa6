/**
 * What a loop posts on its message buses: document 000's messages about itself, what people say to it, and how its child loops end.
 *
 * A post depends on the journal only: on the event, on what was known before it and on what is known after it. So the next
 * owner finds the same posts in the same journal.
 */
import type { Parent } from '../bus/message.ts';
import { awaitedChildren, isLoopId, loopName } from '../loop/child-report.ts';
import { exactDuration } from '../loop/counted.ts';
import type { LoopEvent } from '../loop/event.ts';
import { failureText } from '../loop/failure.ts';
import { explain } from '../loop/outcome.ts';
import { questionFor } from '../loop/questions.ts';
import type { Knowledge } from '../loop/report.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import type { LoopFolder } from '../home/home.ts';

export interface Post {
  readonly type: 'INFO' | 'WARNING' | 'ERROR' | 'FACT' | 'USER' | 'RUN_START' | 'RUN_STOP' | 'RUN_CRASH';
  readonly body: string;
  /** The run that it is about. */
  readonly run?: string;
  readonly parents?: readonly Parent[];
  /** The child loop that it is about; the loop's own agent is shown it too. */
  readonly child?: string;
  /** The task is complete: the project should know too. */
  readonly completes?: true;
}

export class BusPosts {
  readonly #folder: LoopFolder;
  #before: LoopState;
  /** Whether the loop has waited for children since its claim was accepted. */
  #hasWaited: boolean;

  /** `state` is what is known before the first event that is taken. */
  constructor(folder: LoopFolder, state: LoopState) {
    this.#folder = folder;
    this.#before = state;
    this.#hasWaited = awaitedChildren(state) !== null;
  }

  /** The posts of an event; `after` is what is known after it. */
  take(event: LoopEvent, after: Knowledge): readonly Post[] {
    const before = this.#before;
    const { state } = after;
    const hasWaited = this.#hasWaited;
    const isWaiting = awaitedChildren(state) !== null;
    if (isWaiting) this.#hasWaited = true;
    else if (event.type === 'iteration.started' || event.type === 'loop.reopened') this.#hasWaited = false;
    this.#before = state;
    const said = otherPosts(event, before, state);
    if (state.policy.posts === 'people') return said;
    const isNews = isWaiting && (!hasWaited || event.type === 'child.started');
    return [
      ...ownPosts(event, before, state, hasWaited, this.#folder),
      ...(isNews ? [waitPost(state)] : []),
      ...said,
    ];
  }
}

function waitPost({ children }: LoopState): Post {
  return {
    type: 'INFO',
    body: `waiting for ${children.length} children to complete: [${children.join(' ')}]`,
  };
}

/** What people say to the loop, and what becomes of its child loops. */
function otherPosts(event: LoopEvent, before: LoopState, after: LoopState): readonly Post[] {
  if (event.type === 'timer.fired') {
    // A question whose time was over: its default is the answer.
    const answered = before.questions.find(({ id }) => after.questions.every((open) => open.id !== id));
    if (answered?.default === undefined || answered.default === null) return [];
    return [{ type: 'USER', body: answered.default, parents: [{ id: answered.id, kind: 'default' }] }];
  }
  if (event.type === 'child.ended' && isLoopId(event.child)) {
    const { child, outcome = null, lost = 'lost' } = event;
    return [{ type: 'FACT', body: `child loop ${loopName(child)} ended: ${outcome?.type ?? lost}`, child }];
  }
  if (event.type !== 'control.received') return [];
  const { control } = event;
  if (control.type === 'tell') return [{ type: 'USER', body: control.text }];
  if (control.type !== 'answer') return [];
  const question = questionFor(before, control.question);
  if (question === undefined) return [];
  return [{ type: 'USER', body: control.text, parents: [{ id: question.id, kind: 'answer' }] }];
}

function ownPosts(
  event: LoopEvent,
  before: LoopState,
  after: LoopState,
  hasWaited: boolean,
  folder: LoopFolder,
): readonly Post[] {
  switch (event.type) {
    case 'run.planned':
      if (event.purpose !== 'work') return [];
      return [
        { type: 'INFO', run: event.run, body: `starting root agent (restart #${restartOf(event.run)})` },
      ];
    case 'run.started': {
      const open = openRun(before);
      // An owner that reattaches to the agent journals it again.
      if (open?.id !== event.run || open.purpose !== 'work' || open.receipt !== null) return [];
      return [{ type: 'RUN_START', run: event.run, body: filesOf(event.run, folder) }];
    }
    case 'run.ended':
      return openRun(before)?.purpose === 'work' ? endedRun(event) : [];
    case 'probe.finished':
      if (event.childrenProblem === undefined) return [];
      return [{ type: 'WARNING', body: `failed to enumerate children: ${event.childrenProblem}` }];
    case 'loop.ended':
      return endPosts(event, before, after, hasWaited);
    case 'loop.created':
    case 'policy.changed':
    case 'start.recorded':
    case 'owner.changed':
    case 'owner.left':
    case 'iteration.started':
    case 'run.output':
    case 'checks.started':
    case 'check.finished':
    case 'evidence.examined':
    case 'evidence.restored':
    case 'claim.made':
    case 'claim.accepted':
    case 'claim.rejected':
    case 'changes.found':
    case 'family.counted':
    case 'commit.made':
    case 'checkpoint.taken':
    case 'limit.shared':
    case 'unchanged.noticed':
    case 'limit.neared':
    case 'timer.fired':
    case 'child.started':
    case 'child.ended':
    case 'question.asked':
    case 'control.received':
    case 'loop.reopened':
      return [];
  }
}

/** Document 000 counts restarts from 0. */
function restartOf(run: string): number {
  return Number.parseInt(run, 10) - 1;
}

function filesOf(run: string, { workspaceFolder }: LoopFolder): string {
  return [
    `run_dir: ${workspaceFolder.run(run)}`,
    `prompt: ${workspaceFolder.prompt(run)}`,
    `stdout: ${workspaceFolder.stdout(run)}`,
    `stderr: ${workspaceFolder.stderr(run)}`,
    `output: ${workspaceFolder.output(run)}`,
  ].join('\n');
}

function endedRun({ run, ending, as }: Extract<LoopEvent, { type: 'run.ended' }>): readonly Post[] {
  const code = 'code' in ending ? (ending.code ?? 'unknown') : null;
  const how = ending.how === 'exited' ? [] : [`ended: ${ending.how}`];
  const exit = [...(code === null ? [] : [`exit_code: ${code}`]), ...how].join('\n');
  const failure = failureText(ending, as);
  if (failure === null) return [{ type: 'RUN_STOP', run, body: exit }];
  return [
    { type: 'RUN_CRASH', run, body: `${exit}\nerror: ${failure}` },
    { type: 'WARNING', run, body: `root agent failed on restart #${restartOf(run)}: ${failure}` },
  ];
}

function endPosts(
  { outcome }: Extract<LoopEvent, { type: 'loop.ended' }>,
  before: LoopState,
  { policy, turn }: LoopState,
  hasWaited: boolean,
): readonly Post[] {
  switch (outcome.type) {
    case 'done': {
      const { childrenLeft } = outcome;
      if (childrenLeft.length > 0) {
        const waited = exactDuration(policy.children?.waitMs ?? 0);
        const body = `timeout waiting for children after ${waited}: [${childrenLeft.join(' ')}]`;
        return [{ type: 'WARNING', body, completes: true }];
      }
      const how =
        turn.claim?.by === 'marker' ? 'DONE marker present, no active children' : 'no active children';
      const body = `task completed (${hasWaited ? 'all children finished' : how})`;
      return [{ type: 'INFO', body, completes: true }];
    }
    case 'waiting':
      return [{ type: 'INFO', body: policy.wording.waitLine ?? explain(outcome, policy) }];
    case 'iterations-exhausted':
      return [{ type: 'ERROR', body: `task failed: max restarts (${outcome.limit}) exceeded` }];
    case 'stopped':
      if (!hasWaited || before.children.length === 0) return [];
      return [{ type: 'ERROR', body: `failed waiting for children: ${explain(outcome, policy)}` }];
    case 'time-exhausted':
    case 'cost-exhausted':
    case 'tokens-exhausted':
    case 'failures-exhausted':
    case 'limit-waits-exhausted':
    case 'stuck':
    case 'prompt-lost':
    case 'bad-input':
    case 'fatal':
      return [{ type: 'ERROR', body: `task failed: ${explain(outcome, policy)}` }];
  }
}
