/** Families whose owners and agents are killed at random, until a limit on cost ends them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { RiggedDaemon } from '../rig/cli/daemon.ts';
import { kill } from '../rig/cli/leftovers.ts';
import { until } from '../rig/cli/until.ts';
import { seededRandom } from '../rig/seeded-random.ts';
import { agentOf, endOf, once, starts } from './family-stage.ts';
import type { Ralph } from './ralph.ts';
import { openStage, waitFor, type Stage } from './stage.ts';

/** `RALPH_KILLS=300 npx vitest run test/scenarios/family-torture.test.ts` takes minutes. */
const KILLS = Number(process.env['RALPH_KILLS'] ?? 30);
const LIMIT = 5;
const COST = 0.25;

describe(`families whose owners and agents are killed ${KILLS} times`, () => {
  it(
    'exceed the limit by at most one run per loop, and are charged once for each run',
    { timeout: 60_000 + KILLS * 5000 },
    async () => {
      const seed = Number(process.env['RALPH_SEED'] ?? Date.now() % 1_000_000);
      const random = seededRandom(seed);
      const stage = openStage();
      cast(stage);
      for (let round = 1, kills = 0; kills < KILLS; round++) {
        const family = new KilledFamily(stage, round, random);
        // oxlint-disable-next-line no-await-in-loop -- one family after the other
        kills += await family.live();
        const told = `RALPH_SEED=${seed} family ${round}, ${kills} kills`;
        const books = family.books();
        for (const { name, told: runs, begun, charged, end } of books) {
          expect(end, `${told}: the end of ${name}`).toMatchObject({
            type: 'cost-exhausted',
            limitUsd: LIMIT,
          });
          expect(charged, `${told}: the entry of ${name}`).toBeCloseTo(begun.length * COST);
          expect(new Set(begun).size, `${told}: runs of ${name} in its journal`).toBe(begun.length);
          expect(new Set(runs).size, `${told}: runs of ${name} as its agents tell`).toBe(runs.length);
          // A run that the limit has ended may not have come to say anything.
          expect(begun, `${told}: ${name}`).toEqual(expect.arrayContaining([...runs]));
        }
        const spent = books.reduce((sum, { told: runs }) => sum + runs.length * COST, 0);
        expect(spent, `${told}: spending`).toBeLessThanOrEqual(LIMIT + books.length * COST);
        const charged = books.reduce((sum, one) => sum + one.charged, 0);
        expect(charged, `${told}: the ledger`).toBeGreaterThanOrEqual(LIMIT);
        expect(charged, `${told}: the ledger`).toBeGreaterThanOrEqual(spent);
      }
    },
  );
});

/** A loop with three children and a grandchild. Each run says in a file when it begins, and at its end alone what it costs. */
function cast(stage: Stage): void {
  const works = `echo "$RALPH_RUN_ID $$" >>"$FAKE_PLAN/spent-$RALPH_LOOP"; sleep 0.1; ends ${COST}`;
  const children = ['a', 'b', 'c']
    .map((name) => starts(stage, `${name}\${RALPH_LOOP#it}`, OPTIONS))
    .join('; ');
  const together = waitFor('begun-it${RALPH_LOOP#?}');
  agentOf(stage, {
    'it*': `${once(`${children}; : >"$FAKE_PLAN/begun-$RALPH_LOOP"`)}; ${works}`,
    'a*': `${once(starts(stage, 'd${RALPH_LOOP#a}', OPTIONS))}; ${together}; ${works}`,
    '*': `${together}; ${works}`,
  });
}

const OPTIONS = '--max-failures 1000';

class KilledFamily {
  readonly #stage: Stage;
  readonly #random: () => number;
  readonly #first: string;
  readonly #loops: readonly string[];
  readonly #daemon: RiggedDaemon;
  #owner: Ralph | null = null;

  constructor(stage: Stage, round: number, random: () => number) {
    this.#stage = stage;
    this.#random = random;
    this.#first = `it${round}`;
    this.#loops = [this.#first, ...['a', 'b', 'c', 'd'].map((name) => `${name}${round}`)];
    this.#daemon = new RiggedDaemon(join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph'));
  }

  /** Plays it to its end, and returns how often something was killed. */
  async live(): Promise<number> {
    const loop = [
      '--name',
      this.#first,
      '-p',
      'x',
      '--agent',
      'scripted',
      '--max-unchanged',
      '0',
      '-m',
      '1000',
    ];
    const limits = ['--max-cost', String(LIMIT), '--max-failures', '1000'];
    this.#owner = this.#stage.process('run', ...loop, ...limits, '--', join(this.#stage.plan, 'agent'));
    await this.#stage.until('its children', () => this.#stage.hasPlanFile(`begun-${this.#first}`));
    let kills = 0;
    for (let lives = 0; this.#living.length > 0; lives++) {
      if (lives === 1000) throw new Error(`${this.#living.join()} did not end`);
      // One owner in five is killed at its beginning, the others after they have made progress.
      // oxlint-disable-next-line no-await-in-loop -- one death after the other
      if (this.#random() > 0.2) await this.#progress();
      // oxlint-disable-next-line no-await-in-loop -- as above
      await sleep(this.#random() * 150);
      // oxlint-disable-next-line no-await-in-loop -- as above
      if (this.#living.length > 0 && (await this.#kills())) kills++;
      // oxlint-disable-next-line no-await-in-loop -- as above
      await this.#revive();
    }
    await this.#owner.ended;
    return kills;
  }

  async #progress(): Promise<void> {
    const before = this.#runs;
    await until('a run', () => this.#runs > before || this.#living.length === 0 || null);
  }

  /** How many runs have begun. */
  get #runs(): number {
    return this.#loops.flatMap((name) => spentRuns(this.#stage, name)).length;
  }

  get #living(): readonly string[] {
    return this.#loops.filter((name) => endOf(this.#stage, name) === null);
  }

  /** Kills the daemon with all children, the process of the first loop, or an agent. */
  async #kills(): Promise<boolean> {
    const choice = this.#random();
    if (choice < 0.5) {
      if (this.#daemon.pid === null) return false;
      await this.#daemon.crashes();
      return true;
    }
    if (choice < 0.85) {
      if (this.#owner?.hasEnded !== false) return false;
      this.#owner.signal('SIGKILL');
      await this.#owner.ended;
      return true;
    }
    const runs = new Set(this.#loops.flatMap((name) => spentRuns(this.#stage, name).map(({ pid }) => pid)));
    const pid = this.#stage.running.find((one) => runs.has(one));
    // Before it is known what a run uses, two that cannot say so end the family.
    if (pid === undefined || !this.#isKnown) return false;
    kill(pid);
    return true;
  }

  get #isKnown(): boolean {
    return this.#loops.some((name) => ledgerEntry(this.#stage, this.#first, name)?.dearest === COST);
  }

  /** Starts what was killed again. */
  async #revive(): Promise<void> {
    if (this.#owner?.hasEnded === true && endOf(this.#stage, this.#first) === null)
      this.#owner = this.#stage.process('resume', this.#first);
    // Any command starts the next daemon, if it has loops.
    if (this.#daemon.pid === null && this.#daemon.enlisted.length > 0) await this.#stage.ralph('ls').ended;
  }

  /** What its loops, their agents and the ledger say in the end. */
  books(): readonly Books[] {
    return this.#loops.map((name) => {
      const started = this.#stage.journalOf(name).filter(({ type }) => type === 'run.started');
      return {
        name,
        begun: started.map(({ run }) => String(run)),
        told: spentRuns(this.#stage, name).map(({ run }) => /\d+\.\d+$/.exec(run)?.[0] ?? run),
        charged: ledgerEntry(this.#stage, this.#first, name)?.usd ?? 0,
        end: endOf(this.#stage, name),
      };
    });
  }
}

interface Books {
  readonly name: string;
  /** The runs, as its journal has them and as the agents tell. */
  readonly begun: readonly string[];
  readonly told: readonly string[];
  /** What the ledger charges for them. */
  readonly charged: number;
  readonly end: unknown;
}

/** The runs of a loop as its agents tell them. */
function spentRuns(stage: Stage, name: string): readonly { readonly run: string; readonly pid: number }[] {
  const [text = ''] = stage.planFiles(new RegExp(`^spent-${name}$`));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ({ run: line.split(' ')[0] ?? '', pid: Number(line.split(' ')[1]) }));
}

/** What the ledger charges for the runs of a loop, and the dearest of them; null without an entry. */
function ledgerEntry(
  stage: Stage,
  first: string,
  name: string,
): { readonly usd: number; readonly dearest: number | null } | null {
  const folder = join(stage.files(first).state, 'family');
  const file = readdirSync(folder).find((one) => one.startsWith(`${name}-`));
  if (file === undefined) return null;
  const entry: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  if (!isEntry(entry)) throw new Error(`no entry: ${file}`);
  const { dearest, runs } = entry.unmetered.usd;
  // All runs cost the same, so the dearest of the family does.
  return { usd: entry.usd + runs * COST, dearest };
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && 'unmetered' in value && 'usd' in value;
}

interface Entry {
  readonly usd: number;
  readonly unmetered: { readonly usd: { readonly dearest: number | null; readonly runs: number } };
}
