/**
 * Recorded output of real agents, and what the adapters must read from it. The table was written from the recordings
 * (test/fixtures/agent-streams) and their scripts, not from the behaviour of the adapters.
 */
import { describe, expect, it } from 'vitest';
import type { ErrorKind } from '../../src/loop/event.ts';
import {
  casesOf,
  listenTo,
  metaOf,
  RECORDED,
  recording,
  sessionIn,
  type Hearing,
  type Recorded,
} from '../rig/agent-streams.ts';
import { FAULTS, type Expected, type Table } from './agent-faults.ts';

const LIST = 'I will list the files.';
const HALF = 'This answer never ends because the stream stops hal';
const TODOS = ['done: Read the code', 'active: Write the fix', 'pending: Run the tests'];
const outage = (retries = 0): Expected => ({ as: 'outage', error: 'transient', retries });
const fatal = (error: ErrorKind, retries = 0): Expected => ({ as: 'fatal', error, retries });
const failed: Expected = { as: 'failure', error: 'other' };
const refused = (retries = 0): Expected => ({ as: 'failure', error: 'request-refused', retries });
const limited = (limit: Expected['limit'] = 'unknown', retries = 0): Expected => ({
  as: 'usage-limit',
  error: 'transient',
  limit,
  retries,
});
/** It was cut off after this text and these tools. */
const cutOff = (text: string, ...tools: string[]): Expected => ({ ...failed, text, tools });

/** All scripts that succeed, for an agent whose tools have these names. */
const successes = (shell: string, write: string, edit: string): Table => ({
  '01-text-success': { as: 'ok', text: 'Hello from the script.', calls: 1 },
  '02-tool-success': { as: 'ok', text: `${LIST} | All done.`, tools: [`${shell} ok`], calls: 2 },
  '03-tool-failure': {
    as: 'ok',
    text: 'I will run the check. | The check failed with exit code 3.',
    tools: [`${shell} failed`],
    calls: 2,
  },
  '04-file-write-edit': {
    as: 'ok',
    text: 'I will write the file. | Now I will change it. | All done.',
    tools: [`${write} ok`, `${edit} ok`],
    calls: 3,
  },
  '05-todo-list': { as: 'ok', text: 'I will plan. | All done.', todos: TODOS, calls: 2 },
  '06b-rate-limit-recovers': { as: 'ok', text: 'All done.', calls: 1 },
  '10-resume-first': { as: 'ok', text: 'First session.', calls: 1 },
  '11-thinking': {
    as: 'ok',
    text: 'Short answer.',
    thoughts: 'The user wants a short answer.',
    calls: 1,
  },
});

/** The usage of an agent that reports it with every answer, and was cut off. */
const oneCall = { calls: 1 };
/** Claude's stream says how large an answer became only in its `result`; without it the output is estimated from the text. */
const claudeHalf = { tokens: [1200, 22, 800, 150] };

const TABLES: Readonly<Record<Recorded, Table>> = {
  amp: {
    ...successes('Bash', 'create_file', 'edit_file'),
    '06-rate-limit-429': outage(),
    '06b-rate-limit-recovers': outage(),
    '06c-usage-limit': limited(),
    '07-server-error-500': outage(),
    '07b-overloaded-529': outage(),
    '07c-error-in-stream': failed,
    '08-auth-401': fatal('authentication'),
    '09-sigterm-mid-stream': { ...cutOff(LIST, 'Bash ok'), ...oneCall },
    '09b-sigterm-in-tool': { ...cutOff('I will wait.', 'Bash open'), ...oneCall },
    '09c-sigterm-group': { ...cutOff(LIST, 'Bash ok'), ...oneCall },
    '09d-sigint': { ...cutOff(LIST, 'Bash ok'), ...oneCall },
    '09e-sigterm-group-in-tool': { ...cutOff('I will wait.', 'Bash open'), ...oneCall },
    '09f-sigkill-group-in-tool': { ...cutOff('I will wait.', 'Bash open'), ...oneCall },
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 1 },
    // It does not show its reasoning.
    '11-thinking': { as: 'ok', text: 'Short answer.', calls: 1 },
    '13-context-overflow': refused(),
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': outage(),
  },
  claude: {
    ...withCost(successes('Bash', 'Write', 'Edit'), 6390),
    '05b-task-tools': {
      as: 'ok',
      text: 'I will plan. | All done.',
      todos: ['done: Read the code', 'pending: Write the fix'],
      calls: 3,
      cost: 19_170,
    },
    '06-rate-limit-429': outage(10),
    '06b-rate-limit-recovers': { as: 'ok', text: 'All done.', calls: 1, cost: 6390, retries: 2 },
    '06c-usage-limit': limited('unknown', 10),
    '06d-subscription-warning': { as: 'ok', text: 'All done.', calls: 1, cost: 3195 },
    // The exact second from the event, not the minute from the text.
    '06e-subscription-usage-limit': limited(1_794_730_286_000),
    '07-server-error-500': outage(10),
    '07b-overloaded-529': outage(10),
    '07c-error-in-stream': { as: 'ok', text: 'All done.', calls: 1, cost: 6390 },
    '08-auth-401': fatal('authentication', 10),
    '09-sigterm-mid-stream': { ...cutOff(LIST, 'Bash ok'), ...claudeHalf },
    '09b-sigterm-in-tool': { ...cutOff('I will wait.', 'Bash failed'), ...claudeHalf },
    '09c-sigterm-group': { ...cutOff(LIST, 'Bash ok'), ...claudeHalf },
    '09d-sigint': { ...cutOff(`${LIST} | ${HALF}`, 'Bash ok'), tokens: [2400, 37, 1600, 300] },
    '09e-sigterm-group-in-tool': { ...cutOff('I will wait.', 'Bash failed'), ...claudeHalf },
    '09f-sigkill-group-in-tool': { ...cutOff('I will wait.', 'Bash open'), ...claudeHalf },
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 1, cost: 6390 },
    '13-context-overflow': refused(),
    '14-model-not-found': fatal('unknown-model'),
    '17-permission-denied': {
      ...fatal('permission-denied'),
      text: 'I will make a file. | I was not allowed to.',
      tools: ['Bash failed'],
      calls: 2,
      cost: 12_780,
    },
    '18-max-turns': { ...cutOff('Step one.', 'Bash ok'), calls: 1, cost: 6390 },
    '20-stop-hook-loop': {
      as: 'ok',
      text: 'Iteration one is over. | Iteration two works. | Iteration two is over. | Iteration three is over.',
      tools: ['Bash ok'],
      calls: 4,
      cost: 25_560,
    },
    '21-budget': { ...cutOff('Step one.', 'Bash open'), calls: 1, cost: 6390 },
    '24-stall': { ...failed, retries: 1 },
  },
  codex: {
    ...successes('Bash', 'Edit', 'Edit'),
    // It reports only whether an item is done.
    '05-todo-list': {
      as: 'ok',
      text: 'I will plan. | All done.',
      todos: ['done: Read the code', 'pending: Write the fix', 'pending: Run the tests'],
      calls: 2,
    },
    '06-rate-limit-429': outage(5),
    '06b-rate-limit-recovers': { as: 'ok', text: 'All done.', calls: 1, retries: 2 },
    '06c-usage-limit': limited(new Date(2026, 10, 15, 8, 36, 59).getTime()),
    '07-server-error-500': outage(5),
    '07b-overloaded-529': outage(5),
    '07c-error-in-stream': { as: 'ok', text: 'All done.', calls: 1, retries: 1 },
    '08-auth-401': fatal('authentication', 5),
    '09-sigterm-mid-stream': cutOff(LIST, 'Bash ok'),
    '09b-sigterm-in-tool': cutOff('I will wait.', 'Bash open'),
    '09c-sigterm-group': cutOff(LIST, 'Bash ok'),
    '09d-sigint': cutOff(LIST, 'Bash ok'),
    '09e-sigterm-group-in-tool': cutOff('I will wait.', 'Bash open'),
    '09f-sigkill-group-in-tool': cutOff('I will wait.', 'Bash open'),
    // It reports the whole session, and this test does not know the first run.
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 2 },
    '13-context-overflow': refused(),
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': failed,
  },
  copilot: {
    ...withoutUsage(successes('bash', 'create', 'edit')),
    // It has no to-do tool, and the call fails.
    '05-todo-list': { as: 'ok', text: 'I will plan. | All done.', tools: ['todo failed'] },
    '06-rate-limit-429': outage(5),
    '06b-rate-limit-recovers': { as: 'ok', text: 'All done.', retries: 2 },
    '06c-usage-limit': limited(1_794_729_959_000, 5),
    '07-server-error-500': outage(5),
    '07b-overloaded-529': outage(5),
    '07c-error-in-stream': {
      as: 'ok',
      text: 'This answer is cut off by an erro | All done.',
      retries: 1,
    },
    '08-auth-401': fatal('authentication', 2),
    '09-sigterm-mid-stream': cutOff(`${LIST} | ${HALF}`, 'bash ok'),
    '09b-sigterm-in-tool': cutOff('I will wait.', 'bash open'),
    '09c-sigterm-group': cutOff(`${LIST} | ${HALF}`, 'bash ok'),
    '09d-sigint': cutOff(`${LIST} | ${HALF}`, 'bash ok'),
    '09e-sigterm-group-in-tool': cutOff('I will wait.', 'bash open'),
    '09f-sigkill-group-in-tool': cutOff('I will wait.', 'bash open'),
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.' },
    '13-context-overflow': refused(1),
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': failed,
  },
  gemini: {
    ...successes('run_shell_command', 'write_file', 'replace'),
    // It does not report the exit code; the tool call counts as a success.
    '03-tool-failure': {
      as: 'ok',
      text: 'I will run the check. | The check failed with exit code 3.',
      tools: ['run_shell_command ok'],
      calls: 2,
    },
    '06-rate-limit-429': outage(),
    '06c-usage-limit': limited(),
    '07-server-error-500': outage(),
    '07b-overloaded-529': outage(),
    // The stream does not show that the answer started again.
    '07c-error-in-stream': { as: 'ok', text: 'This answer is cut off by an erroAll done.', calls: 2 },
    '08-auth-401': fatal('authentication'),
    '09-sigterm-mid-stream': cutOff(`${LIST} | ${HALF}`, 'run_shell_command ok'),
    '09b-sigterm-in-tool': cutOff('I will wait.', 'run_shell_command open'),
    '09c-sigterm-group': cutOff(`${LIST} | ${HALF}`, 'run_shell_command ok'),
    '09d-sigint': cutOff(`${LIST} | ${HALF}`, 'run_shell_command ok'),
    '09e-sigterm-group-in-tool': cutOff('I will wait.', 'run_shell_command open'),
    '09f-sigkill-group-in-tool': cutOff('I will wait.', 'run_shell_command open'),
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 1 },
    // It does not show its reasoning.
    '11-thinking': { as: 'ok', text: 'Short answer.', calls: 1 },
    '13-context-overflow': refused(),
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': failed,
  },
  opencode: {
    ...withCost(successes('bash', 'write', 'edit'), 4800),
    '06-rate-limit-429': outage(),
    '06c-usage-limit': limited(1_794_730_202_000),
    '07-server-error-500': outage(),
    '07b-overloaded-529': outage(),
    '07c-error-in-stream': { as: 'ok', text: 'All done.', calls: 1, cost: 4800 },
    '08-auth-401': fatal('authentication'),
    '09-sigterm-mid-stream': { ...cutOff(LIST, 'bash ok'), calls: 1, cost: 4800 },
    // It reports a tool only after it has ended.
    '09b-sigterm-in-tool': cutOff('I will wait.'),
    '09c-sigterm-group': { ...cutOff(LIST, 'bash ok'), calls: 1, cost: 4800 },
    '09d-sigint': { ...cutOff(LIST, 'bash ok'), calls: 1, cost: 4800 },
    '09e-sigterm-group-in-tool': cutOff('I will wait.'),
    '09f-sigkill-group-in-tool': cutOff('I will wait.'),
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 1, cost: 4800 },
    // It compacts its context four times and never gets to an answer.
    '13-context-overflow': { ...refused(4), thoughts: 'Side answer'.repeat(4), calls: 4, cost: 19_200 },
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': failed,
  },
  qwen: {
    ...successes('run_shell_command', 'write_file', 'edit'),
    // Both were killed while they waited for a retry; only stderr has the reason.
    '06-rate-limit-429': { ...failed, retries: 3 },
    '06c-usage-limit': { ...limited('unknown', 2), error: 'other' },
    '07-server-error-500': outage(),
    '07b-overloaded-529': outage(),
    '07c-error-in-stream': { ...outage(), text: 'This answer is cut off by an erro' },
    '08-auth-401': fatal('authentication'),
    '09-sigterm-mid-stream': { ...cutOff(LIST, 'run_shell_command ok'), ...oneCall },
    '09b-sigterm-in-tool': { ...cutOff('I will wait.', 'run_shell_command open'), ...oneCall },
    '09c-sigterm-group': { ...cutOff(`${LIST} | ${HALF}`, 'run_shell_command ok'), ...oneCall },
    '09d-sigint': { ...cutOff(LIST, 'run_shell_command ok'), ...oneCall },
    '09e-sigterm-group-in-tool': { ...cutOff('I will wait.', 'run_shell_command failed'), ...oneCall },
    '09f-sigkill-group-in-tool': { ...cutOff('I will wait.', 'run_shell_command open'), ...oneCall },
    // It reports the whole session, and this test does not know the first run.
    '10-resume-second': { as: 'ok', text: 'Second session, same conversation.', calls: 2 },
    '13-context-overflow': refused(),
    '14-model-not-found': fatal('unknown-model'),
    '24-stall': failed,
  },
};

function expectedOf(agent: Recorded): Table {
  return { ...TABLES[agent], ...FAULTS[agent] };
}

function withCost(table: Table, microDollars: number): Table {
  return mapped(table, (row) => ({ ...row, cost: microDollars * (row.calls ?? 0) }));
}

/** For an agent whose stream does not report usage. */
function withoutUsage(table: Table): Table {
  return mapped(table, (row) => ({ ...row, calls: 0 }));
}

function mapped(table: Table, change: (row: Expected) => Expected): Table {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, change(row)]));
}

/** When a run with a time of day in its output was started, in the time zone that its CLI used. */
const STARTS: Readonly<Record<string, number>> = {
  'codex/06c-usage-limit': new Date(2026, 10, 15, 7, 36, 12).getTime(),
  'claude/06e-subscription-usage-limit': Date.UTC(2026, 10, 15, 7, 11, 20),
};

function tokensOf(agent: Recorded, { calls = 0, tokens }: Expected): readonly number[] | null {
  if (tokens !== undefined || calls === 0) return tokens ?? null;
  const { input, output, cacheRead, cacheWrite } = metaOf(agent).usagePerModelCall;
  // The APIs of the other agents include tokens written to the cache in the input.
  const reportsCacheWrites = agent === 'claude' || agent === 'amp';
  const one = reportsCacheWrites
    ? [input, output, cacheRead, cacheWrite]
    : [input + cacheWrite, output, cacheRead, 0];
  return one.map((count) => count * calls);
}

const hearing = (agent: Recorded, name: string): Hearing => ({ startedAt: STARTS[`${agent}/${name}`] ?? 0 });

describe.each(RECORDED)('%s', (agent) => {
  it('has an expected result for every recording', () => {
    expect(Object.keys(expectedOf(agent)).toSorted()).toEqual(casesOf(agent));
  });

  it.each(Object.entries(expectedOf(agent)))('is read as expected: %s', (name, expected) => {
    const { text = '', thoughts = '', tools = [], todos = [], retries = 0, error = null, as } = expected;
    expect(listenTo(agent, name, hearing(agent, name)).heard).toEqual({
      text,
      thoughts,
      tools,
      todos,
      tokens: tokensOf(agent, expected),
      cost: expected.cost ?? null,
      session: sessionIn(recording(agent, name)),
      limit: expected.limit ?? null,
      retries: Array.from({ length: retries }, (_, index) => index + 1),
      said: as === 'ok' ? 'success' : 'error',
      error,
      as,
      unknown: 0,
    });
  });
});
