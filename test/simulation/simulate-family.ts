import { Engine } from '../../src/engine/engine.ts';
import { decide } from '../../src/loop/decide.ts';
import type { Happening, LoopEvent } from '../../src/loop/event.ts';
import { evolve, fold } from '../../src/loop/evolve.ts';
import { ALL_METERED } from '../../src/loop/charge.ts';
import { entryOf, countFor, newCount, type LedgerEntry, type LedgerAccess } from '../../src/loop/family.ts';
import type { Outcome } from '../../src/loop/outcome.ts';
import { learn, NOTHING_KNOWN } from '../../src/loop/report.ts';
import { openRun } from '../../src/loop/run.ts';
import { FamilyWatch } from '../../src/owner/child-watch.ts';
import { fakeHost } from '../rig/fake-host.ts';
import { fakeWorkspace } from '../rig/fake-workspace.ts';
import { Life, type Pages } from '../rig/life.ts';
import { mortalJournal } from '../rig/mortal-journal.ts';
import { Crash } from '../rig/toy-driver.ts';
import { FakeWorld } from '../rig/world.ts';
import { FamilyBooks } from './family-books.ts';
import type { FamilyMember, FamilyScenario } from './family-scenario.ts';
import { must, readBack, same } from './plain.ts';

/** Plays the history of one family: every loop has an engine, all share one clock and one ledger. */
export async function simulateFamily(scenario: FamilyScenario): Promise<FamilyHistory> {
  const family = new Family(scenario);
  try {
    return await family.live();
  } catch (cause) {
    const what = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${what}\n${family.lastEvents(60)}`, { cause });
  }
}

export interface FamilyHistory {
  readonly outcomes: readonly (Outcome | null)[];
  readonly restarts: number;
}

const START = 1_000_000;

class Family {
  readonly #scenario: FamilyScenario;
  readonly #ledger = new Map<string, LedgerEntry>();
  readonly #members: readonly Member[];
  readonly #books: FamilyBooks;
  readonly #controls: { at: number; loop: number; happening: ControlEvent }[];
  #clock = START;
  #restarts = 0;

  constructor(scenario: FamilyScenario) {
    this.#scenario = scenario;
    const { loops, controls } = scenario;
    this.#members = loops.map((one, index) => new Member(one, index));
    this.#books = new FamilyBooks(
      this.#members.map(({ payer }) => payer),
      loops.map(({ policy }) => policy.limits),
    );
    this.#controls = controls
      .map(({ atMs, loop, control }, index) => ({
        at: START + atMs,
        loop: loop % loops.length,
        happening: { type: 'control.received' as const, id: `control-${index}`, control },
      }))
      .toSorted((a, b) => a.at - b.at);
  }

  /** For the error message. */
  lastEvents(count: number): string {
    const all = this.#members.flatMap(({ index, pages: { events } }) =>
      events.map((event) => ({ index, event })),
    );
    return all
      .toSorted((a, b) => a.event.at - b.event.at)
      .slice(-count)
      .map(({ index, event: { at, type, ...more } }) => {
        const rest = 'policy' in more ? '' : JSON.stringify(more);
        return `loop ${index} at ${at - START}: ${type} ${rest}`;
      })
      .join('\n');
  }

  async live(): Promise<FamilyHistory> {
    for (let step = 0; step < 20_000; step++) {
      // oxlint-disable-next-line no-await-in-loop -- every microtask runs before time passes
      await new Promise(setImmediate);
      for (const member of this.#members) this.#mournOrReport(member);
      if (this.#members.every(({ isDone }) => isDone)) return this.#close();
      this.#nothingRunsOn();
      this.#passTime();
    }
    throw new Error('L10: the family does not come to an end');
  }

  #close(): FamilyHistory {
    this.#books.close();
    const outcomes = this.#members.map(({ pages: { events }, engine }) => {
      const state = fold(readBack(events));
      must(
        engine !== null && same(state, engine.state),
        'L5',
        'the fold of the journal is not the live state',
      );
      return state.outcome;
    });
    return { outcomes, restarts: this.#restarts };
  }

  /** Starts the next owner of a loop after a death, and notices the end of its process. */
  #mournOrReport(member: Member): void {
    const { life } = member;
    if (life === null) return;
    if (life.broken !== null) throw life.broken.error;
    if (life.isDead && !member.isDone && member.startsAt === null) {
      this.#restarts++;
      member.startsAt = this.#clock + member.downtimeMs;
    }
  }

  /** A run ends as soon as its owner can know that a limit is reached, unless the policy lets it finish. */
  #nothingRunsOn(): void {
    for (const { index, engine, life } of this.#members) {
      if (engine === null || life === null || life.isDead) continue;
      const open = openRun(engine.state);
      const why = this.#books.spent(index);
      if (open === null || why === null || !engine.state.policy.limits.stopRunning) continue;
      must(
        !decide(engine.state).some(({ key }) => key === `run:${open.id}`),
        'L18',
        `the run of loop ${index} goes on with ${why}`,
      );
    }
  }

  #passTime(): void {
    const timers = this.#members.flatMap((member) => {
      const { life, startsAt } = member;
      if (startsAt !== null) return [{ at: startsAt, act: () => this.#start(member) }];
      const next = life === null || life.isDead ? null : life.clock.next;
      return next === null ? [] : [{ at: next, act: () => life?.clock.jump() }];
    });
    const [control] = this.#controls;
    const act = (): void => {
      this.#controls.shift();
      const member = this.#members[control?.loop ?? 0];
      if (control === undefined || member === undefined) return;
      member.inbox.push(control.happening);
      this.#deliver(member);
    };
    const all = control === undefined ? timers : [{ at: control.at, act }, ...timers];
    const first = all.reduce<(typeof all)[number] | null>(
      (a, b) => (a !== null && a.at <= b.at ? a : b),
      null,
    );
    if (first === null) throw new Error('L10: the family waits for nothing');
    this.#clock = Math.max(this.#clock, first.at);
    for (const { world } of this.#members) world.advanceTo(this.#clock);
    first.act();
  }

  #start(member: Member): void {
    const { index, payer, pages, world, scenario } = member;
    const upper = payer === null ? undefined : this.#members[payer];
    // A loop starts after the one above it.
    if (upper !== undefined && upper.pages.events.length === 0) {
      member.startsAt = Math.max(this.#clock, upper.startsAt ?? 0) + 1;
      return;
    }
    member.startsAt = null;
    const life = new Life(world, pages, () => false);
    const isNew = pages.events.length === 0;
    let known = NOTHING_KNOWN;
    for (const event of pages.events) known = learn(known, event);
    let { state } = known;
    const access = this.#accessOf(member, life);
    // A child has its entry before its first event.
    if (isNew && payer !== null) this.#open(member);
    const workspaceFolder = { children: new Map(), edited: null, limit: null, promptLostAt: null };
    const engine: Engine = new Engine(
      {
        journal: mortalJournal(pages, life, { crashesBefore: () => false, isDiskFull: () => false }),
        clock: life.clock,
        host: fakeHost(world, life, (key) => decide(engine.state).some((wanted) => wanted.key === key)),
        workspace: {
          ...fakeWorkspace(world, life, workspaceFolder),
          familyCount: (current) => newCount(current, access.settle(current)),
        },
        observers: [
          {
            appended: (event) => {
              const before = state;
              state = evolve(state, event);
              this.#book(member, event, before, life);
            },
          },
          { appended: (...args) => watch.observer.appended?.(...args) },
        ],
        chance: () => 0.5,
      },
      known,
    );
    const watch = new FamilyWatch(access, engine);
    member.life = life;
    member.engine = engine;
    member.look = () => watch.update();
    const { policy } = scenario;
    engine.append(
      isNew
        ? { type: 'loop.created', name: `loop-${index}`, policy }
        : { type: 'owner.changed', owner: `owner-${pages.events.length}` },
    );
    member.look();
    this.#deliver(member);
    void this.#drive(member, engine, watch, life);
  }

  async #drive(member: Member, engine: Engine, watch: FamilyWatch, life: Life): Promise<void> {
    try {
      const stop = await engine.run();
      if (life.isDead) return;
      if (stop.why === 'paused') {
        // A person resumes it.
        const id = `resume-${member.pages.events.length}`;
        member.inbox.push({ type: 'control.received', id, control: { type: 'resume', now: false } });
        member.downtimeMs = 4000;
      } else must(stop.why === 'ended', 'L10', `the loop stops as ${stop.why}`);
      watch.close();
      member.isDone = stop.why === 'ended' && !life.isDead;
      life.die();
    } catch (error) {
      if (!life.isDead) life.breaks(error);
    }
  }

  #deliver(member: Member): void {
    const { engine, life, inbox } = member;
    const [next] = inbox;
    if (engine === null || life === null || life.isDead || next === undefined) return;
    if (engine.receive(next.id, next.control) === 'later') return;
    inbox.shift();
    this.#deliver(member);
  }

  #book(member: Member, event: LoopEvent, before: FamilyState, life: Life): void {
    try {
      this.#books.book(member.index, event, before);
    } catch (error) {
      life.breaks(error);
    }
    member.events++;
    this.#mayDie(member, life, 'event', member.events);
  }

  /** The entry of a new loop, and those of the loops above that have none yet, from their journals. */
  #open({ index, payer, scenario: { policy } }: Member): void {
    for (let above = payer; above !== null; above = this.#members[above]?.payer ?? null) {
      const upper = this.#members[above];
      if (upper === undefined || this.#ledger.has(String(above))) continue;
      const entry = entryOf(fold(upper.pages.events), upper.payer === null ? null : String(upper.payer));
      this.#ledger.set(String(above), entry);
      this.#books.settled(above, entry.limits.until);
    }
    const { costUsd: usd, tokens, timeMs } = policy.limits;
    const limits = { usd, tokens, timeMs, until: null };
    this.#ledger.set(String(index), {
      name: `loop-${index}`,
      payer: String(payer),
      usd: 0,
      tokens: 0,
      unmetered: { usd: ALL_METERED, tokens: ALL_METERED },
      limits,
    });
    this.#books.settled(index, null);
    // Every owner looks once a second; these are quicker.
    for (const { look } of this.#members) queueMicrotask(() => look?.());
  }

  #accessOf(member: Member, life: Life): LedgerAccess {
    const id = String(member.index);
    return {
      settle: (state) => {
        if (life.isDead) throw new Crash();
        // A family begins with its first child.
        if (this.#ledger.size === 0) return null;
        member.settles++;
        this.#mayDie(member, life, 'before settling', member.settles);
        if (life.isDead) throw new Crash();
        const entry = entryOf(state, member.payer === null ? null : String(member.payer));
        const isNew = !same(this.#ledger.get(id), entry);
        this.#ledger.set(id, entry);
        this.#books.settled(member.index, entry.limits.until);
        if (isNew) this.#tellOthers(member);
        this.#mayDie(member, life, 'after settling', member.settles);
        if (life.isDead) throw new Crash();
        return countFor(id, this.#ledger);
      },
      watch: (onChange) => {
        const listener = (): void => {
          if (!life.isDead) onChange();
        };
        member.listener = listener;
        return () => {
          if (member.listener === listener) member.listener = null;
        };
      },
    };
  }

  #tellOthers(member: Member): void {
    for (const other of this.#members) if (other !== member) queueMicrotask(() => other.listener?.());
  }

  #mayDie(member: Member, life: Life, at: Death['at'], nth: number): void {
    const { deaths, loops } = this.#scenario;
    const death = deaths.find(
      (one) => one.loop % loops.length === member.index && one.at === at && one.after === nth,
    );
    if (death === undefined || life.isDead) return;
    member.downtimeMs = death.downtimeMs;
    life.die();
  }
}

type Death = FamilyScenario['deaths'][number];
type ControlEvent = Extract<Happening, { type: 'control.received' }>;
type FamilyState = Parameters<FamilyBooks['book']>[2];

class Member {
  readonly scenario: FamilyMember;
  readonly index: number;
  readonly payer: number | null;
  readonly world: FakeWorld;
  readonly pages: Pages = { events: [], synced: 0 };
  readonly inbox: ControlEvent[] = [];
  life: Life | null = null;
  engine: Engine | null = null;
  look: (() => void) | null = null;
  listener: (() => void) | null = null;
  /** When its next owner starts; null while it has one. */
  startsAt: number | null;
  downtimeMs = 0;
  isDone = false;
  events = 0;
  settles = 0;

  constructor(scenario: FamilyMember, index: number) {
    this.scenario = scenario;
    this.index = index;
    this.payer = index === 0 ? null : scenario.payer % index;
    this.world = new FakeWorld({ runs: scenario.runs, checks: [0] }, START);
    this.startsAt = START + scenario.startsAtMs;
  }
}
