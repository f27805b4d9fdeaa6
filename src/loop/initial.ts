import { NO_CHARGES } from './charge.ts';
import { DEFAULT_POLICY } from './default-policy.ts';
import { NOTHING_NOTICED } from './limit-notices.ts';
import { NO_FAMILY, NOTHING_SPENT } from './limits.ts';
import { NO_PROGRESS, NO_REPEATS } from './progress.ts';
import type { LoopState } from './state.ts';
import { FIRST_TURN } from './turn.ts';

/** The state before the first event. */
export const INITIAL: LoopState = {
  created: false,
  name: '',
  policy: DEFAULT_POLICY,
  now: 0,
  activeMs: 0,
  outcome: null,
  start: null,
  iteration: 0,
  turn: FIRST_TURN,
  baseline: [],
  failures: { consecutive: 0, total: 0 },
  rung: 0,
  limitWaits: 0,
  refusal: null,
  outages: 0,
  unanswered: 0,
  spent: NOTHING_SPENT,
  charges: NO_CHARGES,
  family: NO_FAMILY,
  session: null,
  progress: NO_PROGRESS,
  attempts: [],
  repeats: NO_REPEATS,
  feedback: { failed: [], failedIn: 0, error: null, errorOf: null },
  control: { paused: false, stop: null, guidance: [], seen: [], signals: 0 },
  children: [],
  endedChildren: [],
  questions: [],
  messages: { shown: null, probed: null, asked: null },
  noticed: NOTHING_NOTICED,
  everStarted: false,
};
