import { expect, it } from 'vitest';
import { DEFAULT_POLICY } from '../loop/default-policy.ts';
import { presets } from '../loop/presets.ts';
import type { Settings } from './settings.ts';
import { policyInput } from './policy.ts';

const conductor = presets.conductor.policy;
const childrenOf = (settings: Settings, base = conductor): unknown =>
  policyInput(settings, base, '/w').children;

it('S1.3 S1.5 sets how long and how often a loop that is done looks at its children', () => {
  expect(conductor.children).toEqual({ waitMs: 300_000, pollMs: 1000 });
  expect(childrenOf({ childWait: '10m' })).toEqual({ waitMs: 600_000, pollMs: 1000 });
  expect(childrenOf({ pollInterval: 5 })).toEqual({ waitMs: 300_000, pollMs: 5000 });
  expect(childrenOf({ childWait: 0 })).toBe(null);
});

it('lets loops of other presets wait, too', () => {
  expect(childrenOf({ childWait: '1m' }, DEFAULT_POLICY)).toEqual({ waitMs: 60_000, pollMs: 1000 });
  expect(childrenOf({}, DEFAULT_POLICY)).toBe(undefined);
  expect(childrenOf({ pollInterval: '5s' }, DEFAULT_POLICY)).toBe(undefined);
});
