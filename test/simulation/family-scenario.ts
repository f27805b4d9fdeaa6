import * as fc from 'fast-check';
import type { Control } from '../../src/loop/event.ts';
import { DEFAULT_POLICY } from '../../src/loop/default-policy.ts';
import type { Policy } from '../../src/loop/policy.ts';
import { exits, type RunScript } from '../rig/world.ts';

/** A family of loops, the deaths of their owners and the changes of their limits; plain data. */
export interface FamilyScenario {
  /** The first is the root. */
  readonly loops: readonly FamilyMember[];
  readonly controls: readonly { readonly atMs: number; readonly loop: number; readonly control: Control }[];
  /** Owners that are killed after so many of their events, or inside of so many looks at the ledger. */
  readonly deaths: readonly {
    readonly loop: number;
    readonly after: number;
    readonly at: 'event' | 'before settling' | 'after settling';
    readonly downtimeMs: number;
  }[];
}

export interface FamilyMember {
  /** Modulo the number of loops before it. */
  readonly payer: number;
  readonly startsAtMs: number;
  readonly policy: Policy;
  readonly runs: readonly RunScript[];
}

const MOST_LOOPS = 6;

const run: fc.Arbitrary<RunScript> = fc
  .record({
    ms: fc.constantFrom(200, 1000, 1000, 7000),
    cost: fc.constantFrom(
      null,
      { usd: 0.05, source: 'reported' } as const,
      { usd: 0.3, source: 'reported' } as const,
      { usd: 0.5, source: 'reported' } as const,
    ),
    tokens: fc.constantFrom(null, { input: 10, output: 5, cacheRead: 80, cacheWrite: 5 }),
    code: fc.constantFrom(0, 0, 0, 1),
  })
  .map(({ ms, cost, tokens, code }) => exits(code, { ms, output: { cost, tokens } }));

const limits = fc.record({
  iterations: fc.integer({ min: 2, max: 12 }),
  costUsd: fc.constantFrom(null, null, 0.5, 1, 3),
  tokens: fc.constantFrom(null, null, null, 300, 1500),
  timeMs: fc.constantFrom(null, null, null, 6000, 60_000),
  stopRunning: fc.constantFrom(true, true, false),
  lookedAt: fc.constantFrom('before-next' as const, 'after-iteration' as const),
});

const member: fc.Arbitrary<FamilyMember> = fc
  .record({
    payer: fc.nat({ max: MOST_LOOPS }),
    startsAtMs: fc.constantFrom(0, 100, 900, 5000),
    limits,
    runs: fc.array(run, { minLength: 1, maxLength: 5 }),
  })
  .map(({ limits: own, ...more }) => ({
    ...more,
    policy: {
      ...DEFAULT_POLICY,
      limits: { ...DEFAULT_POLICY.limits, failures: null, unchanged: null, repeats: null, ...own },
      checkpoint: false,
    },
  }));

const loop = fc.nat({ max: MOST_LOOPS - 1 });
const change: fc.Arbitrary<Control> = fc.constantFrom<Control>(
  { type: 'set', limits: { costUsd: 0.1 } },
  { type: 'set', limits: { costUsd: 0.7 } },
  { type: 'set', limits: { costUsd: 5 } },
  { type: 'set', limits: { costUsd: null } },
  { type: 'set', limits: { tokens: 200 } },
  { type: 'set', limits: { tokens: null } },
  { type: 'set', limits: { timeMs: 3000 } },
  { type: 'set', limits: { timeMs: null } },
  { type: 'pause' },
  { type: 'resume', now: false },
  { type: 'stop', now: true, by: 'person' },
);

export const familyScenario: fc.Arbitrary<FamilyScenario> = fc.record({
  loops: fc.array(member, { minLength: 2, maxLength: MOST_LOOPS }),
  controls: fc.array(fc.record({ atMs: fc.nat({ max: 20_000 }), loop, control: change }), { maxLength: 4 }),
  deaths: fc.array(
    fc.record({
      loop,
      after: fc.integer({ min: 1, max: 30 }),
      at: fc.constantFrom('event', 'before settling', 'after settling'),
      downtimeMs: fc.constantFrom(0, 10, 3000),
    }),
    { maxLength: 5 },
  ),
});
