/**
 * A loop and its owner: the one process that drives it until it ends, rests or is left.
 *
 * 1. The owner holds the loop's lock from before its first event until `close`.
 * 2. Projections get an event before any other observer does.
 * 3. Observers only watch; what they show or send changes nothing in the loop.
 */
import { remakeWorkspaceFolder } from './remake-workspace-folder.ts';
import { randomUUID } from 'node:crypto';
import { agentNamed } from '../agents/agents.ts';
import type { Price } from '../agents/prices.ts';
import { chance, systemClock } from '../engine/clock.ts';
import { Engine, type EngineStop } from '../engine/engine.ts';
import { PRIVATE_FOLDER, makeFolders } from '../files/files.ts';
import { type FileJournal, openJournal } from '../journal/file.ts';
import type { Control, Happening } from '../loop/event.ts';
import type { Policy } from '../loop/policy.ts';
import { openRun } from '../loop/run.ts';
import type { LoopState } from '../loop/state.ts';
import { unwrittenEnd } from '../loop/control.ts';
import { watchFolder } from '../process/watch.ts';
import { Projections } from '../projections/projections.ts';
import { legacyOf } from '../home/orphan.ts';
import { endRecordedChildren, endStep } from './recovery.ts';
import { makeRequestFolder } from '../workspace/loop-sandbox.ts';
import { endCheckpoints } from '../workspace/checkpoints.ts';
import { Packing } from '../git/pack-records.ts';
import { type EndRecord, endRecord } from '../projections/end-record.ts';
import { dismiss } from '../home/background.ts';
import { announceChild } from '../home/children.ts';
import { UNCONFIRMED_END, isEndNoted, noteEnd } from '../home/end-note.ts';
import { Inbox } from '../home/inbox.ts';
import { forgetEnvironment } from '../home/saved-environment.ts';
import { isUnsent } from '../home/notice-secrets.ts';
import { retakeLock } from '../home/lock.ts';
import { livingOwner, thisProcess } from '../home/lock-owner.ts';
import { reserve } from '../home/registry.ts';
import { type Mask, ownMask } from '../home/mask.ts';
import { movedPolicy } from '../home/moved.ts';
import type { StartedLoop } from '../home/run-environment.ts';
import { type Spec, isInSession, writeSpec } from '../home/spec.ts';
import type { LoopFolder } from '../home/home.ts';
import { wantsSetUp } from '../workspace/set-up.ts';
import { accountOf, keepEnvironment } from './loop-environment.ts';
import { LoopBus } from './loop-bus.ts';
import { LoopWakeLock } from './keep-awake.ts';
import { LoopNotices } from './loop-notices.ts';
import { LoopPosts } from './loop-posts.ts';
import { type SandboxAnswers, answerSandbox } from './answer-sandbox.ts';
import { type AgentProgram, agentHost, runFacts, shownCommand } from './agent-host.ts';
import { ChildWatch } from './child-watch.ts';
import { Backlog, type LoopObserver } from './observer.ts';
import { priceFor } from './money.ts';
import { recordLateStart, runSetUp } from './prepare.ts';
import { removePromptAliases, shareLimits } from './own-observers.ts';
import { RunOutputs } from './run-outputs.ts';
import { loopWorkspace } from './workspace.ts';

export class OwnedLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** What the user should know before the loop begins. */
  readonly notes: readonly string[];
  readonly #loop: OwnedLoopSpec;
  #mask: Mask | null = null;
  readonly #observers: LoopObserver[] = [];
  readonly #backlog = new Backlog();
  /** The account that pays for the agent. */
  readonly #account: string;
  readonly #outputs: RunOutputs;
  readonly #projections: Projections;
  readonly #journal: FileJournal;
  readonly #posts: LoopPosts;
  readonly #notices: LoopNotices;
  readonly #engine: Engine;
  readonly #hadOwner: boolean;
  readonly #inbox: Inbox;
  readonly #bus: LoopBus;
  readonly #stopSetUp = new AbortController();
  readonly #packing = new Packing();
  readonly #children: ChildWatch;
  readonly #wakeLock: LoopWakeLock;
  #price: Price = () => null;
  #sandboxAnswers: SandboxAnswers = () => null;

  constructor(loop: OwnedLoopSpec) {
    this.#loop = loop;
    this.spec = loop.spec;
    this.folder = loop.folder;
    this.#inbox = new Inbox(loop.folder.inbox, (line) => this.#say(line));
    this.#bus = new LoopBus(loop, (line) => this.#say(line));
    this.#account = accountOf(loop.spec, loop.env);
    this.#outputs = new RunOutputs(loop, () => openRun(this.state)?.id ?? null);
    this.#projections = this.#openProjections();
    this.#journal = this.#openJournal();
    const { cutOff } = this.#journal;
    this.notes = cutOff === null ? loop.notes : [...loop.notes, `warning: ${cutOff}`];
    this.#projections.follow(() => this.#journal.mark);
    this.#hadOwner = loop.isNew !== true;
    this.#posts = new LoopPosts(
      { ...loop, mask: (text) => this.mask.text(text), say: (line) => this.#say(line) },
      this.#journal.length,
      this.#projections.known.state,
      this.#hadOwner ? this.#journal.length : 0,
    );
    this.#notices = new LoopNotices(
      { ...loop, mask: () => this.mask, say: (line) => this.#say(line) },
      this.#journal.length,
      this.#projections.known.state,
    );
    this.#engine = this.#openEngine();
    this.#children = new ChildWatch(loop, this.#engine);
    this.#wakeLock = new LoopWakeLock(loop.spec, (line) => this.#say(line));
    this.#observers.push(
      this.#projections,
      this.#posts,
      this.#notices,
      ...this.#ownObservers(),
      this.#backlog,
    );
    if (this.state.outcome?.type === 'done' && !isEndNoted(loop.folder, this.#journal.mark.bytes))
      this.#append(UNCONFIRMED_END);
    if (this.#hadOwner && this.state.outcome === null)
      this.#append({ type: 'owner.changed', owner: String(process.pid), ...legacyOf(this) });
  }

  get state(): LoopState {
    return this.#engine.state;
  }

  /** The agent's command line and the variables that are set for it, without secrets. */
  get shownCommand(): string {
    return shownCommand(this.#loop, this.state);
  }

  /** Masks the secrets of the loop's environment and of our own. */
  get mask(): Mask {
    this.#mask ??= ownMask(this.#loop);
    return this.#mask;
  }

  /**
   * Continues the loop for a person, perhaps with another policy. Supersedes every pause, stop, signal and unwritten fatal end
   * before it: in the inbox, and in the journal of an owner that died before it obeyed. With `now`, a wait for a limit ends too.
   */
  resume(policy: Policy | null, now: boolean): void {
    for (const { id, control } of this.#inbox.messages())
      if (SUPERSEDED.has(control.type)) this.#inbox.remove(id);
    for (const end of unwrittenEnd(this.state)) this.#append(end);
    const { outcome, control } = this.state;
    const changed = movedPolicy(policy ?? this.state.policy, this.spec) ?? policy;
    if (outcome !== null) this.#append({ type: 'loop.reopened', policy: changed });
    else if (changed !== null) this.#append({ type: 'policy.changed', policy: changed });
    if (now || (outcome === null && (control.paused || control.stop !== null)))
      this.receive({ type: 'resume', now });
    this.#children.family.publish();
    if (this.spec.parent !== null) announceChild(this.spec.parent.folder, this.folder);
  }

  receive(control: Control, id: string = randomUUID()): void {
    this.#engine.receive(id, control);
  }

  end(): EndRecord {
    return endRecord(this.state, this.#engine.report, this.spec);
  }

  /** Adds an observer; before `drive` it also gets what was journaled so far. */
  observe(observer: LoopObserver): void {
    this.#observers.push(observer);
    this.#backlog.replay(observer);
  }

  /** Drives the loop until it ends, rests or is left, then gives up the ownership. */
  async drive(observer: LoopObserver = {}): Promise<EngineStop> {
    const stops: (() => void)[] = [];
    let stop: EngineStop | null = null;
    try {
      this.observe(observer);
      this.#observers.push({ appended: (_, state) => this.#wakeLock.follow(state) });
      this.#backlog.close();
      this.#projections.goLive();
      this.#posts.goLive();
      this.#notices.goLive();
      this.#inbox.prepare();
      stops.push(watchFolder(this.folder.inbox, () => this.#readInbox()));
      stops.push(this.#answerSandbox());
      stops.push(() => this.#children.close());
      stops.push(() => this.#wakeLock.close());
      this.#wakeLock.follow(this.state);
      if (this.#hadOwner) await endStep(this.state, this.spec, this.folder);
      this.#price = await priceFor(this.spec.agent);
      this.#readInbox();
      const isReady = await this.#setUp();
      // The start of a new loop without a set-up is on record already.
      if (isReady && (this.#hadOwner || wantsSetUp(this.spec, this.state.policy)))
        await recordLateStart(this.#loop, this.#engine, (line) => this.#say(line));
      stop = await this.#engine.run();
      if (this.state.outcome?.type === 'stopped' && this.state.control.stop?.now === true)
        await endRecordedChildren(this.spec, this.state.policy);
      for (const each of this.#observers) each.stopped?.(stop);
      return stop;
    } finally {
      for (const end of stops) end();
      try {
        await Promise.all([this.#posts.finish(), this.#notices.finish()]);
        await endCheckpoints({ folder: this.folder, packing: this.#packing, why: stop?.why });
      } finally {
        this.close();
      }
    }
  }

  /** Sets what is done for `ralph` in the sandbox of the loop. */
  serveSandbox(answers: (loop: SandboxedParent) => SandboxAnswers): void {
    this.#sandboxAnswers = answers({ ...this.#loop, state: () => this.state });
  }

  /**
   * Stops driving and leaves the running agent to the next owner; `drive` then returns `left`. A step that is not the
   * agent (a check, a set-up, a commit) is ended and repeated by the next owner. Throws where the agent is a function.
   */
  leave(): void {
    this.#engine.leave();
    this.#stopSetUp.abort();
  }

  /** Gives the loop to an owner in the background, without having driven it. */
  giveAway(): void {
    const place = 'background';
    try {
      if (this.spec.place !== place) writeSpec(this.folder.spec, { ...this.spec, place }, this.#loop.env);
      if (this.state.outcome === null) this.#append({ type: 'owner.left' });
      this.#engine.sync();
    } finally {
      this.close();
    }
  }

  /** Gives up the ownership. */
  close(): void {
    try {
      this.#projections.close();
      if (this.state.outcome?.type === 'done') noteEnd(this.folder, this.#journal.mark.bytes);
      if (this.state.outcome !== null) {
        if (!isUnsent(this.spec.id)) forgetEnvironment(this.spec.id);
        dismiss(this.spec.id);
      }
    } finally {
      // A daemon lives on, and would seem to own the loop.
      this.#journal.close();
      this.#loop.release();
    }
  }

  #openProjections(): Projections {
    const { spec, folder } = this.#loop;
    const projections: Projections = new Projections(folder, {
      about: () => ({
        id: spec.id,
        workspace: spec.workspace,
        promptFile: 'file' in spec.prompt ? spec.prompt.file : null,
        end: projections.known.state.outcome === null ? null : this.end(),
      }),
      run: () => runFacts(this.#loop, projections.known.state),
      writeOutput: (run) => this.#outputs.write(run),
      mask: (text) => this.mask.text(text),
      warn: (line) => this.#say(line),
      remade: () => remakeWorkspaceFolder(this.#loop, this.state),
    });
    return projections;
  }

  #openJournal(): FileJournal {
    const { spec, folder, env } = this.#loop;
    const guard = {
      // If the lock was removed with the folder, another process may have taken it since.
      mayRestore: () => livingOwner(folder.lock) === process.pid || retakeLock(folder.lock, thisProcess()),
      restored: () => {
        writeSpec(folder.spec, spec, env);
        // If all state was removed, commands would not find the loop, and the next daemon would not continue it.
        reserve(folder);
        keepEnvironment(spec, env);
        makeFolders(folder.inbox, PRIVATE_FOLDER);
        this.#projections.rebuild();
      },
    };
    const reader = this.#loop.isNew === true ? this.#backlog.after(this.#projections) : this.#projections;
    // An owner in a session lives for a moment only.
    return openJournal(folder.journal, reader, guard, { keepsCopy: !isInSession(spec) });
  }

  #openEngine(): Engine {
    const { spec } = this.#loop;
    const workspace = loopWorkspace({
      ...this.#loop,
      agent: agentNamed(spec.agent.kind),
      account: this.#account,
      show: (event) => {
        const now = Date.now();
        for (const observer of this.#observers) observer.agent?.(event, now);
      },
      recall: (event) => {
        for (const observer of this.#observers) observer.recalled?.(event);
      },
      prompted: (text) => {
        for (const observer of this.#observers) observer.prompted?.(text);
      },
      bus: this.#bus,
      policy: () => this.state.policy,
      price: (model, tokens) => this.#price(model, tokens),
      edits: (now) => this.#projections.edits(now),
      readProgress: () => this.#projections.readProgress(),
      packing: this.#packing,
      say: (line) => this.#say(line),
    });
    const host = agentHost(
      this.#loop,
      this.#loop,
      () => this.state,
      (line) => this.#say(line),
    );
    const clock = systemClock(this.#projections.known.state.now);
    return new Engine(
      { journal: this.#journal, clock, host, workspace, observers: this.#observers, chance },
      this.#projections.known,
    );
  }

  /** What the owner itself does when something happens. */
  #ownObservers(): readonly LoopObserver[] {
    return [
      shareLimits(this.#account),
      this.#outputs,
      removePromptAliases(this.spec, this.folder),
      this.#children.family.observer,
      {
        appended: (_, { control }) => {
          if (control.stop !== null || control.paused) this.#stopSetUp.abort();
        },
      },
    ];
  }

  /** Prepares a fresh worktree; whether it is ready. An owner that died in the middle has it done again. */
  async #setUp(): Promise<boolean> {
    const ending = await runSetUp(this.#loop, this.state, (line) => this.#say(line), this.#stopSetUp.signal);
    if (typeof ending === 'object') this.receive({ type: 'abort', message: ending.failed, as: 'bad-input' });
    return ending === 'done';
  }

  /** Takes controls from the inbox and questions from the bus, and notices what others did to the journal or the workspace folder. */
  #readInbox(): void {
    this.#engine.verifyJournal();
    try {
      this.#projections.look();
      this.#children.update();
      for (const { id, control } of this.#inbox.messages()) {
        // A control that cannot be obeyed now waits for the next owner.
        if (this.#engine.receive(id, control) !== 'later') this.#inbox.remove(id);
      }
      for (const question of this.#bus.newQuestions(this.state)) this.#engine.write(question);
    } catch {
      // The inbox and the workspace folder may be removed and made again meanwhile; the next look comes within a second.
    }
  }

  #answerSandbox(): () => void {
    if (this.state.policy.sandbox === null) return () => {};
    return answerSandbox(makeRequestFolder(this.folder.workspaceFolder), {
      folder: this.folder,
      say: (line) => this.#say(line),
      answers: () => this.#sandboxAnswers,
    });
  }

  #say(line: string): void {
    for (const observer of this.#observers) observer.status?.(line);
  }

  #append(happening: Happening): void {
    if (this.#engine.append(happening)) return;
    throw this.#engine.lost ?? new Error(`${happening.type} is not admitted now`);
  }
}

export interface OwnedLoopSpec extends StartedLoop, AgentProgram {
  readonly notes: readonly string[];
  /** Releases the lock. */
  readonly release: () => void;
  /** This process has created it, and is its first owner. */
  readonly isNew?: true;
}

/** A loop whose sandboxed agent may start child loops. */
export interface SandboxedParent extends StartedLoop {
  readonly state: () => LoopState;
}

const SUPERSEDED: ReadonlySet<Control['type']> = new Set(['pause', 'stop']);
