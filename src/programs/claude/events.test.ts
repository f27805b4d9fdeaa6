import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { openClaude, type ClaudeSession } from '../../../test/rig/claude-session.ts';
import { readState } from '../../session/session-file.ts';

const PROMISE = '<promise>DONE</promise>';

let claude: ClaudeSession;
beforeEach(() => {
  claude = openClaude();
});

describe('/ralph', () => {
  it('S5.43 S5.44 starts a loop with the text of the command as it is, and tells the agent how it ends', async () => {
    const answer = await claude.ask(claude.recorded('expansion'));
    const state = readState(claude.id);
    expect(state?.prompt).toContain('do !`touch ');
    expect(state?.prompt).toMatch(/ and \$\(touch .*\) @\/etc\/hostname \$1 \$\{CLAUDE_PLUGIN_ROOT\}$/);
    expect(answer?.decision).toBeUndefined();
    expect(answer?.hookSpecificOutput?.hookEventName).toBe('UserPromptExpansion');
    const context = answer?.hookSpecificOutput?.additionalContext ?? '';
    expect(context).toMatch(/^<ralph-loop-mode iteration="1" max="100">\n/);
    expect(context).toContain(`output: ${PROMISE}`);
    expect(context).toContain(`The task:\n${state?.prompt}`);
    expect(answer?.systemMessage).toContain('Ralph loop started: at most 100 iterations');
    expect(readdirSync(claude.workspace)).not.toContain('pwned');
  });

  it.each([
    ['', 'at most 100 iterations, done at <promise>DONE</promise> (no checks). /ralph-status shows it'],
    [
      '--max-iterations=1 --check true',
      'at most 1 iteration, done at <promise>DONE</promise> if the check passes.',
    ],
    ['--check true --check false', 'done at <promise>DONE</promise> if the 2 checks pass.'],
  ])('says what ends the loop: %s', async (options, text) => {
    expect((await claude.command('ralph', `"Fix it" ${options}`))?.systemMessage).toContain(text);
  });

  it.each(['ralph', 'ralph:ralph'])('is known as %s, with its options', async (name) => {
    await claude.command(name, '"Fix it" --max-iterations=3 --completion-promise=FIXED');
    expect(readState(claude.id)).toMatchObject({
      prompt: 'Fix it',
      maxIterations: 3,
      completionPromise: 'FIXED',
    });
  });

  it('leaves a long task where it is, because Claude Code shortens a long context', async () => {
    const answer = await claude.command('ralph', `"${'long '.repeat(4000)}"`);
    const context = answer?.hookSpecificOutput?.additionalContext ?? '';
    expect(context).toContain('</ralph-loop-mode>');
    expect(context.length).toBeLessThan(2000);
  });

  it('S5.43 does not reach the model if the loop cannot start, and says why', async () => {
    const answer = await claude.command('ralph', '"Fix it" --max-iteration=3');
    expect(answer).toMatchObject({ decision: 'block' });
    expect(answer?.reason).toMatch(/^Ralph did not start a loop: unknown option --max-iteration\b/);
    expect(readState(claude.id)).toBeNull();
  });

  it('gives the checks the environment of the session, without the variables of its hooks', async () => {
    const event = claude.recorded('expansion', {
      command_name: 'ralph',
      command_args: '"Fix it" --check "env > seen; false"',
    });
    await claude.ask(event, {
      MINE: 'kept',
      CLAUDECODE: '1',
      CLAUDE_CODE_MESSAGING_TOKEN: 'secret',
      CLAUDE_CONFIG_DIR: '/c',
      RALPH_TRUST: '1',
      GIT_DIR: '/elsewhere/.git',
    });
    await claude.turnEnds(PROMISE, { isFirst: true });
    const seen = readFileSync(join(claude.workspace, 'seen'), 'utf8').split('\n');
    expect(seen).toEqual(expect.arrayContaining(['MINE=kept', 'CLAUDE_CONFIG_DIR=/c']));
    expect(seen.filter((line) => /^CLAUDECODE|MESSAGING|PROJECT_DIR/.test(line))).toEqual([]);
    // As for every other loop.
    expect(seen.filter((line) => /^RALPH_TRUST|^GIT_DIR/.test(line))).toEqual([]);
  });

  it('works in the folder that Claude Code was started in, whatever the current folder of the session is', async () => {
    await claude.command('ralph', 'x', { cwd: claude.root });
    expect(readState(claude.id)?.workdir).toBe(claude.workspace);
  });
});

describe('/cancel-ralph and /ralph-status', () => {
  it('S5.45 ends the loop of the session without a question to the model', async () => {
    await claude.command('ralph', 'Fix it');
    await claude.turnEnds('one', { isFirst: true });
    expect(await claude.command('ralph:cancel-ralph')).toMatchObject({
      decision: 'block',
      reason: 'Ralph loop cancelled at iteration 2.',
    });
    expect(await claude.turnEnds('two')).toBeNull();
    expect((await claude.command('cancel-ralph'))?.reason).toBe('No Ralph loop is running in this session.');
  });

  it('shows where the loop stands', async () => {
    expect((await claude.command('ralph-status'))?.reason).toBe('No Ralph loop is running in this session.');
    await claude.command('ralph', 'Fix it --max-iterations=7');
    const status = await claude.command('ralph:ralph-status');
    expect(status?.decision).toBe('block');
    expect(status?.reason).toMatch(/iteration 1 of 7/);
  });

  it('S5.47 a resumed session is told about its loop', async () => {
    expect(await claude.ask(claude.recorded('resume'))).toBeNull();
    await claude.command('ralph', 'Fix it --max-iterations=7');
    expect((await claude.ask(claude.recorded('resume')))?.systemMessage).toMatch(
      /iteration 1 of 7[^]*Type anything to continue the loop, or \/cancel-ralph$/,
    );
  });
});

describe('a pasted block that begins with /ralph', () => {
  /** Claude Code takes no long block for a command: there is no other event. */
  const paste = (prompt: string) => claude.ask(claude.recorded('submit', { prompt, prompt_id: 'p1' }));

  it('S5.43 S5.58 starts the loop', async () => {
    const task = `Fix\n\n${'one thing\n'.repeat(12)}`;
    const answer = await paste(`/ralph ${task} --max-iterations=7`);
    expect(readState(claude.id)).toMatchObject({ prompt: task.trim(), maxIterations: 7 });
    expect(answer?.systemMessage).toContain('Ralph loop started: at most 7 iterations');
    expect(answer?.hookSpecificOutput?.hookEventName).toBe('UserPromptSubmit');
    expect(answer?.hookSpecificOutput?.additionalContext).toContain(
      '<ralph-loop-mode iteration="1" max="7">',
    );
    expect((await claude.turnEnds('one', { isFirst: true }))?.decision).toBe('block');
  });

  it('S5.43 says why it does not start, and the message does not reach the model', async () => {
    const answer = await paste('/ralph "Fix it\nnow" --max-iteration=3');
    expect(answer?.decision).toBe('block');
    expect(answer?.reason).toMatch(/^Ralph did not start a loop: unknown option --max-iteration\b/);
    expect(readState(claude.id)).toBeNull();
  });

  it('starts one loop if Claude Code takes the message for a command after that', async () => {
    await paste('/ralph "Fix it"');
    const { loop } = readState(claude.id) ?? {};
    const event = { command_name: 'ralph', command_args: '"Fix it"' };
    expect(await claude.ask(claude.recorded('expansion', { ...event, prompt_id: 'p1' }))).toBeNull();
    expect(readState(claude.id)?.loop).toBe(loop);
    // The next one replaces it.
    await claude.ask(claude.recorded('expansion', { ...event, prompt_id: 'p2' }));
    expect(readState(claude.id)?.loop).not.toBe(loop);
  });

  it.each(['/ralph-status', '/ralphs are here', 'Use /ralph here', ' /ralph'])(
    'is not %j',
    async (prompt) => {
      expect(await paste(prompt)).toBeNull();
      expect(readState(claude.id)).toBeNull();
    },
  );
});

describe('a session that starts', () => {
  it('is told about the loop that another session of its folder has', async () => {
    await claude.command('ralph', 'Fix it --max-iterations=7');
    const begin = (more: object) =>
      claude.ask(claude.recorded('resume', { source: 'startup', session_id: 'other', ...more }), {
        CLAUDE_PROJECT_DIR: undefined,
      });
    expect((await begin({}))?.systemMessage).toBe(
      `Another session of this folder has a Ralph loop: fix-it-1, iteration 1 of 7. To continue it: claude --resume ${claude.id}; to end it: ralph stop fix-it-1`,
    );
    expect(await begin({ cwd: claude.root })).toBeNull();
    await claude.command('cancel-ralph');
    expect(await begin({})).toBeNull();
  });
});

describe('an input that cannot be used', () => {
  it.each([
    ['no object', null],
    ['an array', []],
    ['an unknown event', { hook_event_name: 'Later', session_id: 's1' }],
    ['no session', { hook_event_name: 'Stop' }],
    ['a session that is a path', { hook_event_name: 'Stop', session_id: '../../etc' }],
    [
      'another command',
      { hook_event_name: 'UserPromptExpansion', session_id: 's1', command_name: 'compact' },
    ],
    ['an inherited name', { hook_event_name: 'constructor', session_id: 's1' }],
    [
      'fields of other types',
      { hook_event_name: 'Stop', session_id: 's1', background_tasks: 7, transcript_path: {} },
    ],
  ])('is let go: %s', async (_, input) => {
    expect(await claude.ask(input)).toBeNull();
  });

  it('does not break the session if the loop is damaged', async () => {
    await claude.command('ralph', 'Fix it');
    const { loop = '' } = readState(claude.id) ?? {};
    writeFileSync(join(claude.root, 'state', 'loops', loop, 'journal.jsonl'), 'rubbish');
    const answer = await claude.turnEnds('one', { isFirst: true });
    expect(answer?.decision).toBeUndefined();
    expect(answer?.systemMessage).toMatch(/^Ralph: /);
  });

  it('does not believe a damaged memory', async () => {
    await claude.command('ralph', 'Fix it');
    writeFileSync(join(claude.root, 'state', 'sessions', claude.id, 'claude.json'), '{"offset":-1}');
    expect((await claude.turnEnds('one', { isFirst: true }))?.decision).toBe('block');
    expect((await claude.turnEnds(PROMISE))?.systemMessage).toContain('done');
  });
});
