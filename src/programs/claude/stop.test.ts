import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openClaude, type ClaudeSession } from '../../../test/rig/claude-session.ts';
import { readLoopOf } from '../../home/read-loop.ts';
import { readState } from '../../session/session-file.ts';

const PROMISE = '<promise>DONE</promise>';
const CAP_1 = { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '1' };

let claude: ClaudeSession;
beforeEach(() => {
  claude = openClaude();
});

describe('the end of a turn', () => {
  it('S5.1 goes on until the promise, with the tokens of each turn', async () => {
    await claude.command('ralph', 'Fix it');
    const { loop = '' } = readState(claude.id) ?? {};
    const next = await claude.turnEnds('I have begun.', { isFirst: true });
    expect(next).toMatchObject({ decision: 'block', systemMessage: 'Ralph loop: iteration 2 of 100' });
    expect(next?.reason).toMatch(/^\[RALPH LOOP - ITERATION 2\/100\]\n/);
    const end = await claude.turnEnds(`It is done. ${PROMISE}`, { tools: 2 });
    expect(end?.decision).toBeUndefined();
    expect(end?.systemMessage).toMatch(/ended after 2 iterations.*: done/);
    expect(existsSync(join(claude.root, 'state', 'sessions', claude.id))).toBe(false);
    expect(readLoopOf(loop)?.state.spent.tokens).toMatchObject({ input: 400, output: 40 });
  });

  it('S5.37 stops at the limit', async () => {
    await claude.command('ralph', 'Fix it --max-iterations=2');
    expect((await claude.turnEnds('one', { isFirst: true }))?.decision).toBe('block');
    const end = await claude.turnEnds('two');
    expect(end?.decision).toBeUndefined();
    expect(end?.systemMessage).toMatch(/ended after 2 iterations/);
    expect(await claude.turnEnds('three', { isFirst: true })).toBeNull();
  });

  it('rejects a promise while a check fails, and the next prompt has the output of the check', async () => {
    await claude.command('ralph', '"Fix it" --check "echo broken thing; test -e fixed"');
    const next = await claude.turnEnds(PROMISE, { isFirst: true });
    expect(next?.reason).toContain('broken thing');
    expect(next?.systemMessage).toContain('the promise was rejected');
    writeFileSync(join(claude.workspace, 'fixed'), '');
    expect((await claude.turnEnds(PROMISE))?.systemMessage).toContain('done');
  });

  it('takes the last message from the event if the transcript does not have it', async () => {
    await claude.command('ralph', 'Fix it');
    const end = await claude.ask(claude.recorded('stop', { last_assistant_message: PROMISE }));
    expect(end?.systemMessage).toContain('done');
  });

  it('waits a moment for a transcript that is written late', async () => {
    await claude.command('ralph', 'Fix it');
    const { loop = '' } = readState(claude.id) ?? {};
    writeFileSync(claude.transcript, '');
    const asked = claude.ask(claude.recorded('stop', { last_assistant_message: PROMISE }));
    setTimeout(() => claude.writes(PROMISE), 40);
    expect((await asked)?.systemMessage).toContain('done');
    expect(readLoopOf(loop)?.state.spent.tokens).toMatchObject({ input: 100 });
  });

  it('counts the tokens of subagents since the start of the loop', async () => {
    const folder = join(claude.root, 'transcript', 'subagents');
    mkdirSync(folder, { recursive: true });
    const subagent = (name: string): void => {
      const message = { id: name, model: 'claude-x', content: [], usage: { input_tokens: 7 } };
      writeFileSync(
        join(folder, `agent-${name}.jsonl`),
        `${JSON.stringify({ type: 'assistant', message })}\n`,
      );
    };
    subagent('before');
    await claude.command('ralph', 'Fix it');
    const { loop = '' } = readState(claude.id) ?? {};
    subagent('first');
    await claude.turnEnds('one', { isFirst: true });
    subagent('second');
    await claude.turnEnds(PROMISE);
    expect(readLoopOf(loop)?.state.spent.tokens).toMatchObject({ input: 214 });
  });

  it('S5.50 takes no promise from before the loop', async () => {
    claude.writes(PROMISE);
    await claude.command('ralph', 'Fix it');
    expect((await claude.turnEnds('I begin.', { isFirst: true }))?.decision).toBe('block');
  });

  it('does not judge the text of a turn twice', async () => {
    await claude.command('ralph', '"Fix it" --check "test -e fixed"');
    await claude.turnEnds(PROMISE, { isFirst: true });
    writeFileSync(join(claude.workspace, 'fixed'), '');
    expect((await claude.turnEnds('I made the file.'))?.decision).toBe('block');
  });

  it('is remembered before its checks run: a hook that is killed there leaves no turn that counts twice', async () => {
    const memory = join(claude.root, 'state', 'sessions', claude.id, 'claude.json');
    await claude.command('ralph', `"Fix it" --check "cp ${memory} remembered; false"`);
    await claude.turnEnds(PROMISE, { isFirst: true });
    const remembered: unknown = JSON.parse(readFileSync(join(claude.workspace, 'remembered'), 'utf8'));
    expect(remembered).toMatchObject({ offset: statSync(claude.transcript).size, last: PROMISE });
  });

  it('that two hooks report is one turn, however late the second one is', async () => {
    await claude.command('ralph', 'Fix it');
    claude.writes('The same words.');
    const event = claude.recorded('stop', { last_assistant_message: 'The same words.' });
    const answers = await Promise.all([claude.ask(event), claude.ask(event), claude.ask(event)]);
    expect(answers.filter((answer) => answer !== null)).toMatchObject([{ decision: 'block' }]);
    expect(await claude.ask(event)).toBeNull();
    expect(readState(claude.id)).toMatchObject({ iteration: 2 });
    expect((await claude.turnEnds('The same words.'))?.decision).toBe('block');
  });

  it('that two hooks report leaves the prompt that the session was not given', async () => {
    await claude.command('ralph', 'Fix it');
    await claude.turns(1, CAP_1);
    claude.writes('two');
    const event = claude.recorded('stop-again', { last_assistant_message: 'two' });
    await Promise.all([claude.ask(event, CAP_1), claude.ask(event, CAP_1)]);
    await claude.ask(event, CAP_1);
    const next = await claude.ask(claude.recorded('submit', { prompt: 'go on' }));
    expect(next?.hookSpecificOutput?.additionalContext).toMatch(/^\[RALPH LOOP - ITERATION 3\/100\]/);
  });

  it('S5.35 lets a session without a loop go, also if another one in the same folder has a loop', async () => {
    await claude.command('ralph', 'Fix it');
    const other = { session_id: 'other', last_assistant_message: PROMISE };
    expect(await claude.ask(claude.recorded('stop', other))).toBeNull();
    expect(await claude.ask(claude.recorded('failure-billing', other))).toBeNull();
    expect(readState(claude.id)).toMatchObject({ iteration: 1 });
  });

  it('changes nothing while background tasks run', async () => {
    await claude.command('ralph', 'Fix it');
    claude.writes(PROMISE);
    const answer = await claude.ask(
      claude.recorded('stop-with-background-task', { last_assistant_message: PROMISE }),
    );
    expect(answer).toEqual({
      systemMessage: 'Ralph loop: waiting for 1 background task (bg); the loop continues when it has ended',
    });
    expect(readState(claude.id)).toMatchObject({ iteration: 1 });
    expect((await claude.turnEnds('It ended.', { isFirst: true }))?.systemMessage).toContain('done');
  });
});

describe('the limit of Claude Code on continuations', () => {
  it('lets go instead of the continuation that Claude Code would override, and says how to raise the limit', async () => {
    await claude.command('ralph', 'Fix it');
    expect(await claude.turns(8)).toEqual(Array.from({ length: 8 }, () => 'block'));
    const ninth = await claude.turnEnds('turn 9');
    expect(ninth?.decision).toBeUndefined();
    expect(ninth?.systemMessage).toContain('set CLAUDE_CODE_STOP_HOOK_BLOCK_CAP');
    expect(ninth?.systemMessage).toContain('type anything to continue the loop');
    expect(readState(claude.id)).toMatchObject({ active: true, iteration: 10 });
  });

  it('gives the prompt that was left out to the next prompt of the person, once, and goes on', async () => {
    await claude.command('ralph', 'Fix it');
    await claude.turns(2, CAP_1);
    expect(await claude.ask(claude.recorded('submit', { prompt: '/ralph-status' }))).toBeNull();
    const next = await claude.ask(claude.recorded('submit', { prompt: 'go on' }));
    expect(next?.hookSpecificOutput?.additionalContext).toMatch(/^\[RALPH LOOP - ITERATION 3\/100\]/);
    expect(await claude.ask(claude.recorded('submit', { prompt: 'go on' }))).toBeNull();
    expect((await claude.turnEnds('turn 10', { isFirst: true }))?.decision).toBe('block');
  });

  it('counts again after a tool call', async () => {
    await claude.command('ralph', 'Fix it');
    await claude.turns(1, CAP_1);
    expect((await claude.turnEnds('with a tool', { tools: 1, env: CAP_1 }))?.decision).toBe('block');
    expect((await claude.turnEnds('without one', { env: CAP_1 }))?.decision).toBeUndefined();
  });

  it('is read from the environment, and 0 means unlimited', async () => {
    await claude.command('ralph', 'Fix it');
    expect(await claude.turns(2, CAP_1)).toEqual(['block', undefined]);
    expect(new Set(await claude.turns(9, { CLAUDE_CODE_STOP_HOOK_BLOCK_CAP: '0' }))).toEqual(
      new Set(['block']),
    );
  });
});

describe('a command that waits for the end of the turn', () => {
  function types(content: string): void {
    claude.appends({ type: 'queue-operation', operation: 'enqueue', content });
  }

  it.each(['/cancel-ralph', '/ralph:cancel-ralph', '/ralph "another task"'])(
    'lets %s run before anything else',
    async (typed) => {
      await claude.command('ralph', '"Fix it" --check ": > checked"');
      types(typed);
      expect(await claude.turnEnds(PROMISE, { isFirst: true })).toBeNull();
      expect(existsSync(join(claude.workspace, 'checked'))).toBe(false);
    },
  );

  it('lets another command run, and continues with the next prompt', async () => {
    await claude.command('ralph', 'Fix it');
    types('/compact now');
    const answer = await claude.turnEnds('one', { isFirst: true });
    expect(answer?.decision).toBeUndefined();
    expect(answer?.systemMessage).toContain('Ralph lets /compact run first');
    const next = await claude.ask(claude.recorded('submit', { prompt: 'go on' }));
    expect(next?.hookSpecificOutput?.additionalContext).toContain('ITERATION 2/100');
  });

  it('does not stop for messages', async () => {
    await claude.command('ralph', 'Fix it');
    types('please use tabs');
    const next = await claude.turnEnds('one', { isFirst: true });
    expect(next).toMatchObject({ decision: 'block', systemMessage: 'Ralph loop: iteration 2 of 100' });
  });

  it('answers /ralph-status at the end of the turn, because Claude Code would run it after the loop', async () => {
    await claude.command('ralph', 'Fix it');
    types('/ralph-status');
    const next = await claude.turnEnds('one', { isFirst: true });
    expect(next?.decision).toBe('block');
    expect(next?.systemMessage).toMatch(/^Ralph loop: iteration 2 of 100\nRalph loop fix-it-1: in-session/);
    expect((await claude.turnEnds('two'))?.systemMessage).toBe('Ralph loop: iteration 3 of 100');
  });
});

describe('an error of the API', () => {
  it('lets the session go until the usage limit resets, and says when', async () => {
    await claude.command('ralph', 'Fix it');
    const answer = await claude.ask(claude.recorded('failure-usage-limit'));
    expect(answer?.decision).toBeUndefined();
    expect(answer?.systemMessage).toMatch(
      /^Ralph loop: usage limit until .*; after that, type anything to continue/,
    );
    expect(readState(claude.id)?.active).toBe(true);
    expect((await claude.turnEnds('Here I am again.', { isFirst: true }))?.decision).toBe('block');
  });

  it('keeps the loop for the next prompt, and takes no promise from the text of the error', async () => {
    await claude.command('ralph', 'Fix it');
    const answer = await claude.ask(
      claude.recorded('failure-billing', { last_assistant_message: `Error ${PROMISE}` }),
    );
    expect(answer?.systemMessage).toContain('type anything to continue the loop');
    expect(readState(claude.id)?.active).toBe(true);
  });

  it('of a subagent is not the end of a turn', async () => {
    await claude.command('ralph', 'Fix it');
    expect(await claude.ask(claude.recorded('failure-of-subagent'))).toBeNull();
    expect(
      await claude.ask(claude.recorded('stop', { agent_id: 'a1', last_assistant_message: PROMISE })),
    ).toBeNull();
    expect(readState(claude.id)).toMatchObject({ iteration: 1 });
  });
});
