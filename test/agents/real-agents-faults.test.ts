/**
 * Faults between the real CLIs and their provider, and what a loop makes of the first run. Some CLIs retry for minutes
 * before they report a fault; those are tried only with `RALPH_SLOW_FAULTS=1`. docs/agents.md has the results of all.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { ErrorKind, RunClass } from '../../src/loop/event.ts';
import { openArena } from './arena.ts';
import { install } from './install.ts';
import { REAL_AGENTS, type AgentName } from './real-agent.ts';
import {
  breaksOff,
  fails,
  hangs,
  isBlocked,
  isLimited,
  isRateLimited,
  runs,
  says,
  showsPortal,
  type Turn,
} from './script.ts';

interface Fault {
  readonly fault: string;
  /** Null if the provider's port is closed. */
  readonly script: readonly Turn[] | null;
  readonly as: RunClass;
  readonly error?: ErrorKind;
  readonly advice?: string;
  readonly options?: readonly string[];
  /** The CLIs that retry for more than a minute. */
  readonly slow?: readonly AgentName[];
  /** The CLIs that do this; absent for all of them. */
  readonly only?: readonly AgentName[];
}

/** The CLI may be silent for as long as it is told to wait. */
const SILENT = ['--inactivity-timeout', '20s'];

const FAULTS: readonly Fault[] = [
  {
    fault: 'an error inside an open stream',
    script: [breaksOff('overloaded')],
    as: 'outage',
    slow: ['opencode'],
  },
  { fault: 'a dropped stream', script: [breaksOff('drop')], as: 'outage', slow: ['opencode'] },
  { fault: 'the web page of a captive portal', script: [showsPortal()], as: 'outage' },
  {
    fault: 'a prompt that is too long',
    script: [fails('prompt-too-long')],
    as: 'failure',
    error: 'request-refused',
    advice: 'shorten the prompt',
  },
  {
    fault: 'a context that is full',
    script: [runs('echo work >work.txt'), fails('prompt-too-long')],
    as: 'failure',
    error: 'request-refused',
    advice: 'ask for smaller steps',
  },
  {
    fault: 'a rate limit of two hours',
    script: [runs('echo work >work.txt'), isRateLimited(7200)],
    as: 'outage',
    options: SILENT,
    // Qwen Code says nothing about its first retries.
    only: ['claude', 'codex', 'copilot'],
  },
  {
    fault: 'a rate limit of two hours',
    script: [runs('echo work >work.txt'), isRateLimited(7200)],
    as: 'usage-limit',
    advice: '(2h ',
    only: ['gemini'],
  },
  {
    fault: 'a silent wait for a rate limit',
    script: [runs('echo work >work.txt'), isRateLimited(7200)],
    as: 'usage-limit',
    advice: 'provider unavailable (Rate limited.): retry 1',
    // It may take half a minute to start.
    options: ['--inactivity-timeout', '60s'],
    only: ['opencode'],
  },
  {
    fault: 'a silent wait for a limit',
    script: [runs('echo work >work.txt'), isLimited(7200)],
    as: 'usage-limit',
    advice: 'provider unavailable (The usage limit has been reached): retry 1',
    // It may take half a minute to start.
    options: ['--inactivity-timeout', '60s'],
    only: ['opencode'],
  },
  {
    fault: 'a provider that never answers',
    script: [hangs()],
    as: 'outage',
    advice: 'the provider did not answer',
    options: SILENT,
    // opencode prints nothing before the first answer.
    only: ['claude', 'codex', 'gemini', 'qwen', 'copilot'],
  },
  {
    fault: 'an account without credit',
    script: [fails('out-of-credit')],
    as: 'fatal',
    error: 'out-of-credit',
    advice: 'add credit',
    slow: ['gemini', 'opencode', 'qwen'],
  },
  {
    fault: 'a proxy that blocks the provider',
    script: [isBlocked()],
    as: 'fatal',
    error: 'blocked',
    advice: 'HTTPS_PROXY',
  },
  {
    fault: 'a refused connection',
    script: null,
    as: 'outage',
    // Codex waits for the network forever.
    options: ['--inactivity-timeout', '20s'],
    slow: ['gemini', 'opencode', 'qwen'],
  },
];

const includesSlow = process.env['RALPH_SLOW_FAULTS'] === '1';

describe.each(Object.values(REAL_AGENTS))('$name', (agent) => {
  let bin = '';
  beforeAll(async () => {
    bin = await install(agent.package);
  }, 600_000);

  const faults = FAULTS.filter(
    ({ slow = [], only }) =>
      (includesSlow || !slow.includes(agent.name)) && (only === undefined || only.includes(agent.name)),
  );

  it.each(faults)(
    '$fault: $as',
    async ({ script, as, error, advice = '', options = [] }) => {
      const { starts, model, stage } = await openArena(agent, bin, script ?? [says('unheard')]);
      if (script === null) await model.close();
      // Claude Code would retry for three minutes.
      const ralph = starts(['Do it.', '-m', '1', ...options], { CLAUDE_CODE_MAX_RETRIES: '1' });
      if (as === 'outage' || as === 'usage-limit') {
        // Neither ends the loop.
        await ralph.until(as === 'outage' ? 'retrying in' : 'waiting until');
        ralph.signal('SIGINT');
      }
      const { stderr } = await ralph.ended;
      const ends = stage.journal.filter(({ type }) => type === 'run.ended');
      expect(ends).toMatchObject([
        { as, ...(error === undefined ? {} : { ending: { error: { kind: error } } }) },
      ]);
      expect(stderr).toContain(advice);
      expect(stage.state['total_failures']).toBe(as === 'failure' ? 1 : 0);
      expect(stderr).not.toContain('unknown)');
    },
    360_000,
  );
});
