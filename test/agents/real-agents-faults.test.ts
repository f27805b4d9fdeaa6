/**
 * Faults between the real CLIs and their provider, and what a loop makes of the first run. Some CLIs retry for minutes
 * before they report a fault; those are tried only with `RALPH_SLOW_FAULTS=1`. docs/agents.md has the results of all.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { ErrorKind, RunClass } from '../../src/loop/event.ts';
import { openArena } from './arena.ts';
import { install } from './install.ts';
import { REAL_AGENTS, type AgentName } from './real-agent.ts';
import { breaksOff, fails, isBlocked, says, showsPortal, type Turn } from './script.ts';

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
}

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

  const faults = FAULTS.filter(({ slow = [] }) => includesSlow || !slow.includes(agent.name));

  it.each(faults)(
    '$fault: $as',
    async ({ script, as, error, advice = '', options = [] }) => {
      const { starts, model, stage } = await openArena(agent, bin, script ?? [says('unheard')]);
      if (script === null) await model.close();
      // Claude Code would retry for three minutes.
      const ralph = starts(['Do it.', '-m', '1', ...options], { CLAUDE_CODE_MAX_RETRIES: '1' });
      if (as === 'outage') {
        // An outage never ends the loop.
        await ralph.until('retrying in');
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
