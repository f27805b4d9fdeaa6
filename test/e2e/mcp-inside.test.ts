/** `ralph mcp` for an agent inside a run. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { connectMcp, type McpRig } from '../rig/mcp-client.ts';
import { until } from '../rig/cli/until.ts';
import { openLoadedStage, waitFor, type Stage } from '../scenarios/stage.ts';

/** Many commands, one after the other. */
const SLOW = { timeout: 120_000 };

const CLIENT = fileURLToPath(new URL('../fixtures/calls-mcp.mjs', import.meta.url));

const INSIDE = [
  'ask_question',
  'check_results',
  'claim_done',
  'loop_status',
  'post_message',
  'read_messages',
  'start_child',
  'wait_for_answer',
  'wait_for_child',
];

/** The server as the agent of a call would start it. */
function agentOf(stage: Stage, call: number, ...args: readonly string[]): Promise<McpRig> {
  const lines = stage.given(call, 'env').split('\n');
  const env = Object.fromEntries(
    lines.flatMap((line) =>
      /^\w+=/.test(line) ? [[line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)]] : [],
    ),
  );
  return connectMcp({ main: stage.main, cwd: stage.workspace, env, args });
}

/** A line for an agent's script that calls tools; the server gets only the variables in `env`. */
function calls(
  stage: Stage,
  list: readonly (readonly [string, object])[],
  { env, args = [] }: { readonly env?: readonly string[]; readonly args?: readonly string[] } = {},
): string {
  const words = [
    stage.main,
    JSON.stringify(list),
    '$FAKE_CALL/mcp',
    ...(env === undefined ? [] : [JSON.stringify(env)]),
    ...args,
  ];
  return `'${process.execPath}' '${CLIENT}' ${words.map((word) => (word.startsWith('$') ? `"${word}"` : `'${word}'`)).join(' ')}`;
}

/** The processes of `ralph wait`. */
function waits(stage: Stage): readonly number[] {
  return stage.running.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0wait\0');
    } catch {
      return false;
    }
  });
}

interface Answered {
  readonly tools: readonly string[];
  readonly answers: readonly { readonly name: string; readonly isError: boolean; readonly text: string }[];
}

function answered(stage: Stage, call: number, file = 'mcp'): Answered {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own fixture
  return JSON.parse(stage.given(call, file)) as Answered;
}

describe('an agent inside a run', () => {
  it('claims, sees why the claim was rejected, and reads and posts messages', SLOW, async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor('one'));
    stage.plans(2, waitFor('two'));
    const check = `test -e ok || { printf 'no ok: \\033[1mmissing\\033[0m'; exit 7; }`;
    stage.write('check.sh', check);
    const ralph = stage.starts('-p', 'work', '--check', 'sh check.sh', '-m', '3');
    await stage.waitForCall(1);
    const first = await agentOf(stage, 1);
    expect(first.client.getInstructions()).toContain('claim_done');
    const names = (await first.tools()).map(({ name }) => name).toSorted();
    // It cannot change the settings, so tools that they do not allow are not listed.
    expect(names).toEqual([...INSIDE, 'list_loops', 'loop_logs', 'loop_story'].toSorted());
    expect((await first.call('loop_status')).data).toMatchObject({
      name: 'it',
      status: 'running',
      iterations: 1,
    });
    expect(await first.says('check_results')).toBe('sh check.sh: has not run yet');
    const fact = await first.call('post_message', { type: 'FACT', text: '---\nthe parser is in src/a.ts\n' });
    expect(fact.text).toMatch(/^Posted as MSG-\S+\.$/);
    const claim = await first.says('claim_done', { note: 'all of it' });
    expect(claim).toContain(`Created ${stage.path('.ralph/loops/it/DONE')}.`);
    expect(claim).toContain(
      'This is a claim, not completion. After your run ends, 1 check verifies it:\n- sh check.sh',
    );
    expect(await first.says('claim_done')).toContain('exists already');
    expect(stage.read('.ralph/loops/it/DONE')).toBe('all of it\n');
    await first.close();
    stage.release('one');

    await stage.waitForCall(2);
    const second = await agentOf(stage, 2);
    const results = await second.call('check_results');
    expect(results.text).toContain('sh check.sh: failed (exit 7)');
    expect(results.text).toContain('no ok: missing');
    const messages = await second.call('read_messages', { type: 'FACT' });
    expect(messages.text).toMatch(
      /^\[\S+\] FACT from it \(MSG-\S+\)\n {2}---\n {2}the parser is in src\/a\.ts$/,
    );
    stage.write('ok', '');
    await second.says('claim_done');
    stage.release('two');
    expect((await ralph.ended).code).toBe(0);
    expect(stage.calls).toBe(2);
  });

  it('asks a person, waits for the answer, and hears what to do if none comes', SLOW, async () => {
    const stage = openLoadedStage();
    stage.plans(1, waitFor());
    const ralph = stage.starts('-p', 'work', '-m', '1');
    await stage.waitForCall(1);
    const mcp = await agentOf(stage, 1);
    const asked = await mcp.call('ask_question', {
      question: 'Tabs or spaces?',
      default: 'spaces',
      timeout: '1h',
    });
    const id = /^Asked as (\S+)\. /.exec(asked.text)?.[1] ?? '';
    await stage.waitForEvents('question.asked');
    expect((await mcp.call('loop_status')).data).toMatchObject({
      questions: [{ id, text: 'Tabs or spaces?', default: 'spaces' }],
    });
    const none = await mcp.call('wait_for_answer', { id, seconds: 1 });
    expect(none.text).toMatch(/^No answer yet\.\nEnd your run now: the loop waits/);
    expect(none.text).toContain('your default applies: spaces');

    const waiting = mcp.call('wait_for_answer', { id, seconds: 60 });
    expect((await stage.ralph('answer', 'it', 'tabs').ended).code).toBe(0);
    expect(await waiting).toMatchObject({ text: 'The answer: tabs', isError: false });
    stage.release();
    await ralph.ended;
  });

  it(
    'cannot change its own loop or another one, whatever the settings allow, and gets errors that it can use',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.settings({ mcp: { allow: ['start', 'pause', 'resume', 'stop', 'tell', 'answer'] } });
      await stage.ralph('run', '-p', 'x', '--name', 'other', '-m', '1', '--', stage.agent).ended;
      stage.plans(2, waitFor());
      const ralph = stage.starts('-p', 'work', '-m', '1');
      await stage.waitForCall(2);
      const mcp = await agentOf(stage, 2);
      const names = (await mcp.tools()).map(({ name }) => name);
      expect(names).toContain('stop_loop');
      expect(names).not.toContain('start_loop');
      for (const tool of ['pause_loop', 'stop_loop', 'resume_loop'])
        // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
        expect(await mcp.refuses(tool, { name: 'it' })).toContain('"it" is the loop of this run');
      expect(await mcp.refuses('tell_loop', { name: 'it', text: 'stop' })).toContain(
        '"it" is the loop of this run',
      );
      expect(await mcp.refuses('answer_question', { name: 'it', text: 'yes' })).toContain(
        '"it" is the loop of this run',
      );
      expect(await mcp.refuses('stop_loop', { name: 'other' })).toContain(
        '"other" is not a child loop of "it"',
      );
      expect(await mcp.refuses('wait_for_child', { name: 'it' })).toContain('would wait for "it"');
      expect(await mcp.refuses('ask_question', { question: 'which?', default: 'a' })).toContain(
        'belong together',
      );
      expect(await mcp.refuses('post_message', { type: 'QUESTION', text: 'which?' })).toContain(
        'ask_question',
      );
      expect(await mcp.refuses('wait_for_answer', { id: 'MSG-1', seconds: 1 })).toContain(
        'there is no question MSG-1',
      );
      stage.release();
      await ralph.ended;
      expect(stage.calls).toBe(2);
    },
  );

  it(
    'starts a child and waits for it; a cancelled call and a client that is gone leave no process',
    SLOW,
    async () => {
      const stage = openLoadedStage();
      stage.settings({ agent: { command: stage.agent } });
      stage.plans(1, waitFor('parent'));
      stage.plans(2, waitFor('child'));
      const ralph = stage.starts('-p', 'work', '-m', '1');
      await stage.waitForCall(1);
      const mcp = await agentOf(stage, 1);
      const started = await mcp.call('start_child', {
        task: 'a part of it',
        name: 'part',
        max_iterations: 1,
      });
      expect(started.data).toMatchObject({ started: { name: 'part', status: 'running' } });
      await stage.waitForCall(2);
      expect(readFileSync(stage.files('part').path('spec.json'), 'utf8')).toMatch(
        /"parent": \{\s*"run": "it-/,
      );
      expect(await mcp.says('wait_for_child', { name: 'part', seconds: 1 })).toContain('still running');

      const cancel = new AbortController();
      const waiting = mcp.call('wait_for_child', { name: 'part', seconds: 600 }, cancel.signal);
      // The server answers other calls meanwhile, in its own process.
      expect((await mcp.call('loop_status', { name: 'part' })).data).toMatchObject({ status: 'running' });
      expect(waits(stage)).toEqual([]);
      cancel.abort();
      await expect(waiting).rejects.toThrow(/abort/i);

      const other = await agentOf(stage, 1);
      const left = other.call('wait_for_child', { name: 'part', seconds: 600 }).catch(String);
      expect((await other.call('loop_status', { name: 'part' })).data).toMatchObject({ status: 'running' });
      await other.close();
      expect(await left).toMatch(/closed/i);
      await until('the end of the server', () => (stage.running.includes(other.pid) ? null : true));

      stage.release('child');
      expect(await mcp.says('wait_for_child', { name: 'part' })).toContain(
        'part: iteration limit reached: 1',
      );
      await mcp.close();
      stage.release('parent');
      await ralph.ended;
    },
  );

  it('is found although its server gets no environment, or by --loop', SLOW, async () => {
    const stage = openLoadedStage();
    const bare = ['PATH', 'HOME'];
    stage.plans(
      1,
      [
        calls(
          stage,
          [
            ['loop_status', {}],
            ['claim_done', { note: 'bare' }],
          ],
          { env: bare },
        ),
        `mv "$FAKE_CALL/mcp" "$FAKE_CALL/bare"`,
        calls(stage, [['loop_status', {}]], {
          env: [...bare, 'XDG_STATE_HOME'],
          args: ['--loop', '$RALPH_LOOP_FOLDER'],
        }),
      ].join('\n'),
    );
    // It is done by the file that the server without an environment has made.
    expect((await stage.run('-p', 'work', '-m', '1')).code).toBe(0);
    for (const { tools, answers } of [answered(stage, 1, 'bare'), answered(stage, 1)]) {
      expect(tools).toEqual(expect.arrayContaining(INSIDE));
      expect(answers[0]?.text).toContain('"name": "it"');
    }

    for (const [folder, message] of [
      ['nowhere', 'is not the folder of a loop'],
      ['.ralph/loops/stranger', 'no loop has the folder'],
    ] as const) {
      mkdirSync(stage.path('.ralph/loops/stranger'), { recursive: true });
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      const { code, stderr, stdout } = await stage.process('mcp', '--loop', folder).ended;
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain(message);
    }
  });

  it(
    'works in a sandbox through the workspace folder and the owner',
    { ...SLOW, tags: ['bwrap'] },
    async () => {
      const stage = openLoadedStage();
      const config = join(stage.env['HOME'] ?? '', '.config/ralph/settings.json');
      mkdirSync(dirname(config), { recursive: true });
      writeFileSync(config, JSON.stringify({ sandbox: { write: [stage.plan, dirname(stage.agent)] } }));
      stage.settings({ agent: { command: stage.agent } });
      const list = [
        ['loop_status', {}],
        ['post_message', { text: 'from the sandbox' }],
        ['read_messages', {}],
        ['check_results', {}],
        ['start_child', { task: 'a part', name: 'part', max_iterations: 1 }],
        ['wait_for_child', { name: 'part', seconds: 30 }],
        ['claim_done', {}],
      ] as const;
      const bare = calls(stage, [['loop_status', {}]], { env: ['PATH', 'HOME'] });
      stage.plans(1, `${bare}; mv "$FAKE_CALL/mcp" "$FAKE_CALL/bare"; ${calls(stage, list)}`);
      const { code, stderr } = await stage.run('-p', 'work', '-m', '1', '--check', 'true');
      expect({ code, stderr }).toMatchObject({ code: 0 });
      const { tools, answers } = answered(stage, 1);
      expect(tools.toSorted()).toEqual(INSIDE);
      expect(answers.map(({ isError }) => isError)).not.toContain(true);
      expect(answers[0]?.text).toContain('"sandbox": true');
      expect(stage.given(1, 'bare')).toContain(String.raw`\"sandbox\": true`);
      expect(answers[2]?.text).toContain('from the sandbox');
      expect(answers[3]?.text).toBe('true: has not run yet');
      expect(answers[4]?.text).toContain('"name": "part"');
      expect(answers[5]?.text).toContain('part: iteration limit reached: 1');
      expect(readFileSync(stage.path('.ralph/loops/it/TASK-MESSAGE-BUS.md'), 'utf8')).toContain(
        'from the sandbox',
      );
    },
  );
});
