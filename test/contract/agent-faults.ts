/**
 * The recorded faults between an agent and its provider, and what the adapters must read from them. In all of them the fault
 * repeats until the CLI gives up or is stopped.
 */
import type { ErrorKind, RunClass } from '../../src/loop/event.ts';
import type { Recorded } from '../rig/agent-streams.ts';

/** The expected result; a field that is missing must be empty. */
export interface Expected {
  readonly as: RunClass;
  readonly text?: string;
  readonly thoughts?: string;
  readonly tools?: readonly string[];
  readonly todos?: readonly string[];
  /** Model calls with usage. */
  readonly calls?: number;
  /** The tokens, if the stream reports less than the model server counted. */
  readonly tokens?: readonly number[];
  readonly cost?: number;
  readonly limit?: number | 'unknown';
  readonly retries?: number;
  readonly error?: ErrorKind;
}
export type Table = Readonly<Record<string, Expected>>;

const CUT = 'This answer has a beginning and no end.';
const times = (count: number): string => Array.from({ length: count }, () => CUT).join(' | ');
const outage = (more: Partial<Expected> = {}): Expected => ({ as: 'outage', error: 'transient', ...more });
const fatal = (error: ErrorKind, retries = 0): Expected => ({ as: 'fatal', error, retries });
const refused = (retries = 0): Expected => ({ as: 'failure', error: 'request-refused', retries });
/** It was stopped, or it does not say what happened. */
const unclear = (retries = 0): Expected => ({ as: 'failure', error: 'other', retries });

/** Only the log of opencode names the limit. */
const WAITS_FOR_LIMIT: Expected = {
  as: 'usage-limit',
  error: 'other',
  retries: 1,
  tools: ['bash ok'],
  tokens: [1000, 30, 200, 0],
  cost: 3650,
  limit: 'unknown',
};

/** Without amp: its present builds do not work with another provider. */
export const FAULTS: Readonly<Partial<Record<Recorded, Table>>> = {
  claude: {
    // It asks the model four times to continue.
    '07d-overloaded-mid-stream': outage({ text: times(4), tokens: [4000, 4, 800, 0], cost: 12_300 }),
    '07e-dropped-stream': outage({ text: times(4), tokens: [4000, 4, 800, 0], cost: 12_300, retries: 1 }),
    '13b-request-too-large': refused(),
    '25-captive-portal': outage(),
    '26-proxy-403': fatal('blocked'),
    '26b-proxy-refuses-tunnel': fatal('blocked', 1),
    '26c-provider-403': fatal('authentication'),
    '27-connection-refused': outage({ retries: 1 }),
    '28-out-of-credit': fatal('out-of-credit'),
    '29-rate-limit-of-hours': outage({ tools: ['Bash ok'], tokens: [1000, 30, 200, 0], cost: 3510 }),
  },
  codex: {
    '07d-overloaded-mid-stream': outage({ retries: 5 }),
    '07e-dropped-stream': outage({ retries: 5 }),
    '13b-request-too-large': refused(5),
    '25-captive-portal': outage({ retries: 5 }),
    '26-proxy-403': fatal('blocked', 5),
    // It waits for the network until it is stopped; at a timeout that is an outage.
    '26b-proxy-refuses-tunnel': unclear(5),
    '26c-provider-403': fatal('authentication', 5),
    '27-connection-refused': unclear(5),
    '28-out-of-credit': fatal('out-of-credit'),
    // It waits for hours until it is stopped; at a timeout that is an outage.
    '29-rate-limit-of-hours': { ...unclear(1), tools: ['Bash ok'] },
  },
  copilot: {
    '07d-overloaded-mid-stream': outage({ text: times(6), retries: 5 }),
    '07e-dropped-stream': outage({ text: times(6), retries: 5 }),
    // It exits with 0 after the signal, which is not a success.
    '09g-sigterm-in-retry': unclear(4),
    '13b-request-too-large': refused(1),
    '25-captive-portal': outage({ retries: 5 }),
    '26-proxy-403': fatal('blocked'),
    '26b-proxy-refuses-tunnel': outage({ retries: 5 }),
    '26c-provider-403': fatal('authentication'),
    '27-connection-refused': outage({ retries: 5 }),
    '28-out-of-credit': fatal('out-of-credit', 5),
    '29-rate-limit-of-hours': outage({ tools: ['bash ok'] }),
  },
  gemini: {
    '07d-overloaded-mid-stream': outage({
      text: 'This answer has a beginnin'.repeat(4),
      tokens: [4000, 120, 800, 0],
    }),
    '07e-dropped-stream': outage({ text: 'This answer has a beginnin' }),
    '13b-request-too-large': refused(),
    '25-captive-portal': outage(),
    '26-proxy-403': fatal('blocked'),
    // It does not say that it was the proxy.
    '26b-proxy-refuses-tunnel': outage(),
    '26c-provider-403': fatal('authentication'),
    '27-connection-refused': outage(),
    '28-out-of-credit': fatal('out-of-credit'),
    // Two hours after the last event of the stream.
    '29-rate-limit-of-hours': {
      as: 'usage-limit',
      error: 'transient',
      tools: ['run_shell_command ok'],
      tokens: [1000, 30, 200, 0],
      limit: Date.UTC(2026, 10, 19, 3, 54, 56, 376),
    },
  },
  opencode: {
    '07d-overloaded-mid-stream': outage(),
    '07e-dropped-stream': outage(),
    '13b-request-too-large': refused(2),
    // It takes the page for an empty answer and asks again forever.
    '25-captive-portal': outage({ retries: 12 }),
    '26-proxy-403': fatal('blocked'),
    '26b-proxy-refuses-tunnel': fatal('blocked'),
    '26c-provider-403': fatal('authentication'),
    '27-connection-refused': outage(),
    '28-out-of-credit': fatal('out-of-credit'),
    // Both wait for hours until they are stopped.
    '29-rate-limit-of-hours': WAITS_FOR_LIMIT,
    '29b-usage-limit-unnamed': WAITS_FOR_LIMIT,
  },
  qwen: {
    '07d-overloaded-mid-stream': outage({ text: CUT }),
    '07e-dropped-stream': outage({ text: CUT.repeat(4) }),
    '13b-request-too-large': refused(),
    '25-captive-portal': outage(),
    '26-proxy-403': fatal('blocked'),
    // It fails on its own error: `Value of "this" must be of DOMException`.
    '26b-proxy-refuses-tunnel': unclear(),
    '26c-provider-403': fatal('authentication'),
    '27-connection-refused': outage(),
    // Only stderr has the reason.
    '28-out-of-credit': fatal('out-of-credit', 2),
  },
};
