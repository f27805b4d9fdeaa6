import { expect, it, vi } from 'vitest';
import { until } from '../../../test/rig/cli/until.ts';
import { announcer, harmless } from './announce.ts';
import type { RalphLog } from '../log.ts';

const TOAST = { title: 'A toast', message: '', variant: 'info' };
const fails = (): unknown => Promise.reject(new Error('no screen'));

it('S5.24 survives a toast that fails later, and says so in the log', async () => {
  const warn = vi.fn<RalphLog['warn']>();
  // A program may give an async function where its result is not used.
  announcer({ info() {}, warn, error() {} }, fails).toast(TOAST);
  await until('the log', () => warn.mock.calls.length === 1 || null, { everyMs: 1 });
  expect(warn.mock.lastCall).toEqual([
    '[ralph-loop] Failed to show a toast',
    { title: 'A toast', error: 'Error: no screen' },
  ]);
});

it('survives a log that fails later', async () => {
  const unhandled = vi.fn<() => void>();
  process.once('unhandledRejection', unhandled);
  harmless({ info: fails, warn: fails, error: fails }).info('a line');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});
