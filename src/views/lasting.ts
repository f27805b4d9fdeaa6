import { explain } from '../loop/outcome.ts';
import { kept } from '../store/kept-environment.ts';
import type { LoopReading } from '../store/read-loop.ts';

/**
 * Whether a list says the same about a loop until one of its files changes: it has ended and can be read, no process owns it, no
 * secrets are kept for it, and its reason has no moment in it, which looks different on another day.
 */
export function isLasting({ spec, state, owner, trouble, warning }: LoopReading): boolean {
  const { outcome, policy } = state;
  if (outcome === null || owner !== null || trouble !== null || warning !== undefined) return false;
  let hasMoment = false;
  try {
    explain(outcome, policy, () => {
      hasMoment = true;
      return '';
    });
  } catch {
    // A value that no version of Ralph writes.
    return false;
  }
  return !hasMoment && kept(spec.id) === null;
}
