/** A loop and its owner: this process drives it until it ends, rests, or is left to somebody else. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { agentNamed } from '../agents/agents.ts';
import type { AgentEvent, PromptVia } from '../agents/agent.ts';
import { commandLine, promptWay } from '../agents/call.ts';
import type { Price } from '../agents/prices.ts';
import { list, remove } from '../store/inbox.ts';
import type { LoopFolder } from '../store/store.ts';
import { shareLimit, unshareLimit } from '../store/shared-limits.ts';
import { retakeLock } from '../store/lock.ts';
import { forget } from '../store/kept-environment.ts';
import { treeOf, writeSpec, type Spec } from '../store/spec.ts';
import { redact } from '../store/secrets.ts';
import { systemClock } from '../engine/clock.ts';
import { Engine, type EngineStop } from '../engine/engine.ts';
import type { Observer } from '../engine/ports.ts';
import { functionHost, type CallSpec, type Performer } from '../hosts/function.ts';
import { processHost, type ProcessSpec } from '../hosts/process.ts';
import type { Account } from '../journal/account.ts';
import { openJournal } from '../journal/file.ts';
import type { Control, Happening, LoopEvent } from '../loop/event.ts';
import { waitAfter } from '../loop/limits.ts';
import type { Policy } from '../loop/policy.ts';
import type { LoopState } from '../loop/state.ts';
import { processes } from '../process/process.ts';
import { watchFolder } from '../process/watch.ts';
import { linkBeside, nameBeside, promptAlias, unlinkBeside } from '../store/aliases.ts';
import { endRecord, type EndRecord } from '../store/end-record.ts';
import { endStep } from '../recovery/recovery.ts';
import { priceFor } from './money.ts';
import { ProjectionFiles } from './projections.ts';
import { accountOf, agentEnvironment } from './agent-environment.ts';
import { quoted } from '../process/shell-quote.ts';
import { prepareFolder } from '../store/ralph-folder.ts';
import { runEnvironment, runMarker } from '../store/run-environment.ts';
import { recordStart } from '../scm/start.ts';
import { masked } from '../store/secrets.ts';
import { thisProcess } from '../store/lock-owner.ts';
import { isSetUp, noteSetUp, setUp, setUpFolder, wantsSetUp, watchSetUp } from '../worktree/set-up.ts';
import { setUpMarker } from '../store/run-environment.ts';
import { loopWorkspace } from './workspace.ts';

/** Told about everything that a person may want to see. */
export interface Viewer extends Observer {
  /** The agent said or did something, at this moment. */
  agent?(event: AgentEvent & { readonly at: number }): void;
  /** The agent said or did something that was shown before a crash. */
  recalled?(event: AgentEvent): void;
  /** What the agent is about to be asked, without secrets. */
  prompted?(text: () => string): void;
  seen?(event: LoopEvent, state: LoopState, account: Account): void;
  /** Something that is no event, and may take a while. */
  status?(line: string): void;
}

export class OwnedLoop {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  /** What happened before its first event, for people. */
  notes: readonly string[] = [];
  readonly #files: ProjectionFiles;
  readonly #engine: Engine;
  readonly #release: () => void;
  readonly #closeJournal: () => void;
  readonly #env: Readonly<Record<string, string>>;
  /** Whoever pays for the agent. */
  readonly #account: string;
  #price: Price = () => null;
  /** Somebody was the owner before us. */
  readonly #isRecovery: boolean;
  #viewer: Viewer = {};
  /** What was journaled before anybody looked. */
  #unseen: (() => void)[] = [];
  #isViewed = false;
  /** Ends the set-up that is under way. */
  readonly #settingUp = new AbortController();

  constructor({ spec, folder, env, release, perform }: OwnedLoopSpec) {
    this.spec = spec;
    this.folder = folder;
    this.#release = release;
    this.#env = env;
    const promptFile = 'file' in spec.prompt ? spec.prompt.file : null;
    const files = new ProjectionFiles(folder, {
      workspace: spec.workspace,
      about: () => ({
        workspace: spec.workspace,
        promptFile,
        end: files.state.outcome === null ? null : this.end(),
      }),
      mask: (text) => masked(text, env),
      warn: (line) => this.#viewer.status?.(line),
    });
    this.#files = files;
    const journal = openJournal(folder.journal, files, {
      // The lock went with the folder: whoever has it now is the owner.
      mayRestore: () => retakeLock(folder.lock, thisProcess()),
      restored() {
        prepareFolder(spec.workspace);
        writeSpec(folder.spec, spec, env);
        mkdirSync(folder.inbox, { recursive: true });
        files.rebuild();
      },
    });
    files.follow(() => journal.mark);
    this.#closeJournal = () => journal.close();
    const { state } = files;
    this.#isRecovery = state.created;
    const agent = agentNamed(spec.agent.kind);
    const account = accountOf(spec, env);
    this.#account = account;
    const workspace = loopWorkspace({
      spec,
      folder,
      env,
      agent,
      show: (event) => this.#viewer.agent?.({ ...event, at: Date.now() }),
      recall: (event) => this.#viewer.recalled?.(event),
      prompted: (text) => this.#viewer.prompted?.(text),
      policy: () => this.state.policy,
      price: (model, tokens) => this.#price(model, tokens),
      account,
      edits: (now) => files.edits(now),
      readProgress: () => files.readProgress(),
    });
    const environmentOf = (run: string): Record<string, string> =>
      agentEnvironment({ spec, folder, env, run, policy: this.state.policy }, agent);
    const asProcess = (run: string): ProcessSpec => {
      const prompted = join(folder.run(run), 'prompt.md');
      const way = promptWay(agent, spec.agent, statSync(prompted, { throwIfNoEntry: false })?.size ?? 0);
      return {
        folder: folder.run(run),
        argv: () => this.#commandLine(run, way),
        cwd: treeOf(spec),
        env: environmentOf(run),
        // To one that we know the file's name alone would say nothing; it reads both.
        stdin: way === 'stdin' || (way === 'file' && agent.call !== null) ? prompted : null,
        marker: runMarker(spec, run),
      };
    };
    const asCall = (run: string): CallSpec => ({
      folder: folder.run(run),
      promptFile: join(folder.run(run), 'prompt.md'),
      workspace: treeOf(spec),
      env: environmentOf(run),
      marker: runMarker(spec, run),
    });
    const host =
      perform === undefined ? processHost(asProcess, processes) : functionHost(asCall, perform, processes);
    const observer: Observer = {
      appended: (event, after) => {
        files.take(event, after);
        this.#share(event, after);
        this.#keepsBudget(event, after);
        if (after.control.stop !== null || after.control.paused) this.#settingUp.abort();
        if (event.type === 'run.ended' && after.policy.aliases) {
          unlinkBeside(spec.workspace, promptAlias(event.run), join(folder.run(event.run), 'prompt.md'));
        }
        const known = files.account;
        const show = (): void => {
          this.#viewer.appended?.(event, after);
          this.#viewer.seen?.(event, after, known);
        };
        if (this.#isViewed) show();
        else this.#unseen.push(show);
      },
      complained: (run, chunk) => this.#viewer.complained?.(run, chunk),
      ready: () => this.#viewer.ready?.(),
      began: (effect) => this.#viewer.began?.(effect),
    };
    const clock = systemClock(state.now);
    this.#engine = new Engine({ journal, clock, host, workspace, observer, chance }, state);
    if (state.created && state.outcome === null)
      this.#append({ type: 'owner.changed', owner: String(process.pid) });
  }

  get state(): LoopState {
    return this.#engine.state;
  }

  /** The agent's whole command line, and what is set for it, without secrets. */
  get shownCommand(): string {
    const line = redact(
      this.#commandLine('1.1', promptWay(agentNamed(this.spec.agent.kind), this.spec.agent, 0), '<prompt>'),
      this.#env,
    );
    const set = Object.entries(this.spec.agent.env ?? {}).map(([name, value]) => `${name}=${value}`);
    return [...set, ...line].map(quoted).join(' ');
  }

  /** Words without what its environment keeps secret. */
  mask(text: string): string {
    return masked(text, this.#env);
  }

  /** The first event of a new loop. */
  create(policy: Policy): void {
    this.#append({ type: 'loop.created', name: this.spec.name, policy });
    this.#engine.sync();
  }

  /** Lets an ended loop go on. */
  reopen(policy: Policy | null): void {
    this.#append({ type: 'loop.reopened', policy });
  }

  /** Other settings from here on. */
  change(policy: Policy): void {
    this.#append({ type: 'policy.changed', policy });
  }

  receive(control: Control, id: string = randomUUID()): void {
    this.#engine.receive(id, control);
  }

  /** Whoever says that it should go on does not mean a pause that was asked for before. */
  forgetPauses(): void {
    for (const { id, control } of list(this.folder.inbox)) {
      if (control.type === 'pause') remove(this.folder.inbox, id);
    }
  }

  end(): EndRecord {
    return endRecord(this.state, this.#files.account, this.spec);
  }

  /** Drives the loop until it does not go on, and lets go of it. */
  async drive(viewer: Viewer): Promise<EngineStop> {
    this.#viewer = viewer;
    this.#isViewed = true;
    for (const show of this.#unseen.splice(0)) show();
    this.#files.goLive();
    mkdirSync(this.folder.inbox, { recursive: true });
    const stopListening = watchFolder(this.folder.inbox, () => this.#hear());
    try {
      if (this.#isRecovery) await endStep(this.state, this.spec, this.folder);
      this.#price = await priceFor(this.spec.agent);
      this.#hear();
      const isReady = await this.#setUp();
      // A new loop without a set-up has just been put on record.
      if (isReady && (this.#isRecovery || wantsSetUp(this.spec, this.state.policy)))
        await this.#recordStart();
      return await this.#engine.run();
    } finally {
      stopListening();
      this.close();
    }
  }

  /** Once, in a fresh worktree; whether it is done. Somebody who died in the middle of it has it done again. */
  async #setUp(): Promise<boolean> {
    const { spec, folder, state } = this;
    if (!wantsSetUp(spec, state.policy) || state.iteration > 0 || isSetUp(folder)) return true;
    if (state.control.stop !== null || state.control.paused) return false;
    const { setup, setupTimeoutMs } = state.policy.worktree;
    const noteWhatIsLeft = await watchSetUp(this, this.#env);
    const ending = await setUp(
      {
        commands: setup,
        timeoutMs: setupTimeoutMs,
        cwd: treeOf(spec),
        env: runEnvironment({ spec, folder, env: this.#env, policy: state.policy, run: '1.1' }),
        marker: setUpMarker(spec),
        graceMs: state.policy.timeouts.killGraceMs,
        logs: setUpFolder(folder),
      },
      (line) => this.#viewer.status?.(line),
      this.#settingUp.signal,
    );
    await noteWhatIsLeft();
    if (ending === 'done') noteSetUp(folder);
    else if (ending !== 'interrupted')
      this.receive({ type: 'abort', message: ending.failed, as: 'bad-input' });
    return ending === 'done';
  }

  /** One that learns to commit only now has nothing on record; where that cannot be, every commit will say so. */
  async #recordStart(): Promise<void> {
    const { spec, folder } = this;
    try {
      await recordStart({ spec, folder, env: this.#env, policy: this.state.policy });
    } catch {
      // As above.
    }
  }

  /** Lets go of the loop without driving it. */
  close(): void {
    this.#files.flush();
    if (this.state.outcome !== null) forget(this.spec.id);
    this.#closeJournal();
    this.#release();
  }

  /** Looks whether somebody wants something, and whether everything is still where it was. */
  #hear(): void {
    this.#engine.look();
    try {
      for (const { id, control } of list(this.folder.inbox)) {
        // What came after the end waits for the next owner.
        if (this.#engine.receive(id, control) !== 'later') remove(this.folder.inbox, id);
      }
    } catch {
      // It may come and go while we look; the next look comes within a second.
    }
  }

  #commandLine(run: string, via: PromptVia, shown?: string): readonly string[] {
    const { agent, workspace } = this.spec;
    const folder = this.folder.run(run);
    const promptFile = join(folder, 'prompt.md');
    // In a worktree a name from the workspace leads nowhere.
    const hasAlias = this.state.policy.aliases && via === 'file' && this.spec.worktree === undefined;
    if (hasAlias && shown === undefined) linkBeside(workspace, promptAlias(run), promptFile);
    return commandLine(agentNamed(agent.kind), agent, {
      // A line of a stream would make a poor message.
      output: this.state.turn.messageRun?.id === run ? 'text' : 'stream',
      folder,
      via,
      promptFile: shown ?? (hasAlias ? nameBeside(workspace, promptAlias(run), promptFile) : promptFile),
      prompt: () => shown ?? readFileSync(promptFile, 'utf8'),
    });
  }

  /** Other loops of the account need not run into the same limit. */
  #share(event: LoopEvent, after: LoopState): void {
    const { run } = after.turn;
    if (event.type !== 'run.ended' || run?.id !== event.run) return;
    if (event.as === 'usage-limit') {
      const resetsAt = run.output.limit?.resetsAt ?? waitAfter(after, run).until;
      shareLimit(this.#account, {
        resetsAt,
        message: run.output.limit?.message ?? 'usage limit',
        metAt: event.at,
      });
    }
    if (event.as === 'ok') unshareLimit(this.#account, run.plannedAt);
  }

  /** A limit that cannot be kept any more ends the loop, as it would have been refused at its start. */
  #keepsBudget(event: LoopEvent, { turn: { run }, policy }: LoopState): void {
    const limit = policy.limits.costUsd;
    if (event.type !== 'run.ended' || run?.id !== event.run || limit === null) return;
    if (run.output.cost !== null || run.output.said !== 'success') return;
    const message = `--max-cost ${limit} cannot be kept any more: run ${run.id} did not say what it cost`;
    // Not in the middle of another event.
    setImmediate(() => this.receive({ type: 'abort', message }));
  }

  #append(happening: Happening): void {
    if (!this.#engine.append(happening)) throw new Error(`${happening.type} was refused`);
  }
}

function chance(): number {
  return Number.parseInt(randomUUID().slice(0, 8), 16) / 2 ** 32;
}

interface OwnedLoopSpec {
  readonly spec: Spec;
  readonly folder: LoopFolder;
  readonly env: Readonly<Record<string, string>>;
  readonly release: () => void;
  /** Does the agent's work, where the agent is a function of this program. */
  readonly perform?: Performer | undefined;
}
