/** The streams as document 001 describes them, and lines that it does not describe. */
import { describe, expect, it } from 'vitest';
import type { AgentEvent } from './agent.ts';
import { agentNamed } from './agents.ts';

const events = (agent: string, ...lines: readonly (object | string)[]): readonly AgentEvent[] => {
  const parser = agentNamed(agent).read({ startedAt: 0, folder: '/nowhere' });
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  return [...parser.push(Buffer.from(`${text}\n`)), ...parser.end()];
};
const kinds = (found: readonly AgentEvent[]) => [...new Set(found.map(({ type }) => type))];
const assistant = (...content: readonly object[]) => ({ type: 'assistant', message: { id: 'm1', content } });
const user = (...content: readonly object[]) => ({ type: 'user', message: { role: 'user', content } });
const BASH = { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } };
const USAGE = {
  input_tokens: 10,
  output_tokens: 2,
  cache_read_input_tokens: 300,
  cache_creation_input_tokens: 40,
};
const TOKENS = { input: 10, output: 2, cacheRead: 300, cacheWrite: 40 };
const DONE = { type: 'result', subtype: 'success', result: 'Done.', total_cost_usd: 0.25, usage: USAGE };

describe('the stream of Claude Code', () => {
  it('S2.77 becomes tool starts and ends, text, a result, a to-do list and progress', () => {
    const todo = { type: 'tool_use', id: 't2', name: 'TodoWrite', input: { todos: [{ content: 'x' }] } };
    const found = events(
      'claude',
      { type: 'system', subtype: 'init', session_id: 's1' },
      assistant({ type: 'text', text: 'Hello.' }, BASH),
      user({ type: 'tool_result', tool_use_id: 't1', content: 'a.ts' }),
      assistant(todo),
      DONE,
    );
    expect(kinds(found)).toEqual(['progress', 'text', 'tool.start', 'tool.end', 'todo', 'result']);
  });

  it('S2.79 is understood without the subtypes that the document omits', () => {
    const found = events(
      'claude',
      { type: 'system', session_id: 's1' },
      assistant({ type: 'text', text: 'Hello.' }),
      { type: 'result', result: 'Done.', total_cost_usd: 0.25, usage: USAGE },
    );
    expect(found).toMatchObject([
      { type: 'progress', session: 's1' },
      { type: 'text', text: 'Hello.' },
      { type: 'result', ok: true, text: 'Done.', usage: { costUsd: 0.25 } },
    ]);
    const failed = events('claude', { type: 'result', result: 'No credit.', is_error: true });
    expect(failed).toMatchObject([{ type: 'result', ok: false }]);
    expect(kinds(events('claude', { type: 'result' }, { type: 'system' }))).toEqual(['unknown', 'result']);
  });

  it('S2.79 has the session, text, tools with ids and outcomes, cost and usage', () => {
    expect(
      events(
        'claude',
        { type: 'system', subtype: 'init', session_id: 's1' },
        assistant({ type: 'text', text: 'Hello.' }, BASH),
        user({ type: 'tool_result', tool_use_id: 't1', content: 'a.ts', is_error: false }),
        user({
          type: 'tool_result',
          tool_use_id: 't0',
          content: [{ type: 'text', text: 'no' }],
          is_error: true,
        }),
        DONE,
      ),
    ).toEqual([
      { type: 'progress', text: 'session: s1', usage: null, session: 's1' },
      { type: 'text', text: 'Hello.', message: 'm1' },
      { type: 'tool.start', id: 't1', name: 'Bash', input: 'ls' },
      { type: 'tool.end', id: 't1', ok: true, output: 'a.ts' },
      { type: 'tool.end', id: 't0', ok: false, output: 'no' },
      {
        type: 'result',
        ok: true,
        text: 'Done.',
        usage: { parts: [{ model: null, tokens: TOKENS }], costUsd: 0.25, isWholeSession: false },
        session: 's1',
        error: null,
      },
    ]);
  });

  it('S2.80 S2.109 shows TodoWrite as a to-do list and not as a tool', () => {
    const todos = [
      { content: 'Read', subject: 'not this', status: 'completed' },
      { subject: 'Write', status: 'in_progress', priority: 'high' },
      { content: 'Test', status: 'pending' },
    ];
    const found = events(
      'claude',
      assistant({ type: 'tool_use', id: 't1', name: 'TodoWrite', input: { todos } }),
      user({ type: 'tool_result', tool_use_id: 't1', content: 'Todos have been modified' }),
      DONE,
    );
    expect(kinds(found)).toEqual(['todo', 'result']);
    expect(found[0]).toEqual({
      type: 'todo',
      items: [
        { text: 'Read', status: 'done', priority: null },
        { text: 'Write', status: 'active', priority: 'high' },
        { text: 'Test', status: 'pending', priority: null },
      ],
    });
  });

  it('shows the text of a subagent as thoughts, not as its own text', () => {
    const subagent = { ...assistant({ type: 'text', text: 'DONE' }), parent_tool_use_id: 't1' };
    expect(events('claude', subagent, DONE)[0]).toEqual({ type: 'thought', text: 'DONE' });
  });
});

describe('the stream of Codex', () => {
  const command = (phase: string, more: object) => ({
    type: `item.${phase}`,
    item: { id: 'i1', type: 'command_execution', command: "/bin/bash -lc 'make test'", ...more },
  });

  it.each([
    ["/bin/bash -lc 'make test'", 'make test'],
    [String.raw`/bin/bash -lc "sed -n '1,5p' \"a b\" | tr \$x y"`, `sed -n '1,5p' "a b" | tr $x y`],
    ['/usr/bin/zsh -lc ls', 'ls'],
    ['bash -c pwd', 'pwd'],
    [`/bin/bash -lc 'echo '"'"'a'"'"`, `'echo '"'"'a'"'"`],
    ['bash build.sh', 'bash build.sh'],
  ])('shows the command without the shell around it: %s', (given, input) => {
    expect(events('codex', command('started', { command: given }))[0]).toMatchObject({ input });
  });

  it('S2.81 has a thread, commands, reasoning, messages and usage with the cached part separate', () => {
    expect(
      events(
        'codex',
        { type: 'thread.started', thread_id: 'th1' },
        command('started', { status: 'in_progress', exit_code: null }),
        command('completed', { status: 'completed', exit_code: 0, aggregated_output: 'fine\n' }),
        { type: 'item.completed', item: { id: 'i2', type: 'reasoning', text: 'Hm.' } },
        { type: 'item.completed', item: { id: 'i3', type: 'agent_message', text: 'Done.' } },
        { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7 } },
      ),
    ).toEqual([
      { type: 'progress', text: 'thread: th1', usage: null, session: 'th1' },
      { type: 'tool.start', id: 'i1', name: 'Bash', input: 'make test' },
      { type: 'tool.end', id: 'i1', ok: true, output: 'fine\n' },
      { type: 'thought', text: 'Hm.' },
      { type: 'text', text: 'Done.', message: 'i3' },
      {
        type: 'result',
        ok: true,
        text: 'Done.',
        usage: {
          parts: [{ model: null, tokens: { input: 40, output: 7, cacheRead: 60, cacheWrite: 0 } }],
          costUsd: null,
          isWholeSession: true,
        },
        session: 'th1',
        error: null,
      },
    ]);
  });

  it('S2.109 shows the exit code of a failed command', () => {
    const found = events(
      'codex',
      command('started', {}),
      command('completed', { status: 'failed', exit_code: 2, aggregated_output: 'No rule to make target' }),
    );
    expect(found[0]).toMatchObject({ type: 'tool.start', name: 'Bash' });
    expect(found[1]).toEqual({
      type: 'tool.end',
      id: 'i1',
      ok: false,
      output: 'exit code 2: No rule to make target',
    });
  });

  it('continues after an error until the turn has failed', () => {
    const found = events('codex', { type: 'error', message: 'something' }, { type: 'turn.completed' });
    expect(found).toMatchObject([
      { type: 'progress', text: 'something' },
      { type: 'result', ok: true, usage: null },
    ]);
  });
});

describe('the stream of Amp', () => {
  it('S2.82 is read like that of Claude Code, with the usage in the result', () => {
    const found = events(
      'amp',
      { type: 'system', subtype: 'init', session_id: 'T-1' },
      assistant({ type: 'text', text: 'Hello.' }, { ...BASH, input: { cmd: 'ls' } }),
      user({ type: 'tool_result', tool_use_id: 't1', content: '{"output":"a.ts","exitCode":0}' }),
      { ...DONE, duration_ms: 5, num_turns: 2 },
    );
    expect(found).toMatchObject([
      { type: 'progress', text: 'session: T-1' },
      { type: 'text', text: 'Hello.' },
      { type: 'tool.start', id: 't1', name: 'Bash', input: 'ls' },
      { type: 'tool.end', id: 't1', ok: true, output: 'a.ts' },
      { type: 'result', ok: true, text: 'Done.', usage: { parts: [{ tokens: TOKENS }] }, error: null },
    ]);
  });

  it('S2.82 ends with an error if its execution failed', () => {
    const failed = {
      type: 'result',
      subtype: 'error_during_execution',
      is_error: true,
      error: 'Out of luck.',
    };
    expect(events('amp', failed)).toMatchObject([
      { type: 'result', ok: false, text: null, error: { kind: 'other', message: 'Out of luck.' } },
    ]);
  });
});

describe('an undocumented line', () => {
  it('S2.109 is an event, and is shown unchanged if it is not JSON', () => {
    expect(events('claude', { type: 'new' }, 'npm warn deprecated', '[1]', DONE)).toMatchObject([
      { type: 'unknown', line: '{"type":"new"}', isPlain: false },
      { type: 'unknown', line: 'npm warn deprecated', isPlain: true },
      { type: 'unknown', line: '[1]', isPlain: true },
      { type: 'result', ok: true },
    ]);
  });

  it('is ignored if it is empty and counted if it is broken, and the other lines are read', () => {
    const next = assistant({ type: 'text', text: 'still here' });
    expect(kinds(events('amp', '', '   ', '{"type":"assistant","mess', next, '', DONE))).toEqual([
      'unknown',
      'text',
      'result',
    ]);
  });

  it('may be very long: a text of 20 MB is read', () => {
    const text = 'ä'.repeat(10_000_000);
    const found = events('claude', assistant({ type: 'text', text }), DONE);
    expect(found[0]?.type === 'text' && found[0].text === text).toBe(true);
  });
});
