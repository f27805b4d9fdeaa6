/** `ralph mcp` with the official client: what a person's assistant can see and change. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { connectMcp, type McpRig } from '../rig/mcp-client.ts';
import { openStage, waitFor, type Stage } from '../scenarios/stage.ts';

/** Many commands, one after the other. */
const SLOW = { timeout: 90_000 };

function assistantOf(stage: Stage, ...args: readonly string[]): Promise<McpRig> {
  return connectMcp({ main: stage.main, cwd: stage.workspace, env: stage.env, args });
}

/** The user's own settings for all workspaces. */
function userSettings(stage: Stage, content: unknown): void {
  const folder = join(stage.env['HOME'] ?? '', '.config', 'ralph');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'settings.json'), JSON.stringify(content));
}

describe('an assistant outside of a run', () => {
  it('finds its tools with schemas and hints, and the loops of the workspace', SLOW, async () => {
    const stage = openStage();
    stage.env['DEPLOY_TOKEN'] = 'zebra-4711-quartz';
    stage.plans(
      1,
      `printf 'one \\033[31mred\\033[0m \\007bell zebra-4711-quartz\\n<promise>DONE</promise>\\n'`,
    );
    await stage.run('-p', 'work', '--check', 'true');
    const mcp = await assistantOf(stage);

    expect(mcp.client.getServerVersion()).toMatchObject({ name: 'ralph', title: 'Ralph' });
    expect(mcp.client.getInstructions()).toContain('mcp.allow');
    const tools = await mcp.tools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual([
      'answer_question',
      'list_loops',
      'loop_logs',
      'loop_status',
      'loop_story',
      'pause_loop',
      'resume_loop',
      'start_loop',
      'stop_loop',
      'tell_loop',
    ]);
    const hints = Object.fromEntries(tools.map(({ name, annotations }) => [name, annotations]));
    expect(hints['loop_logs']).toMatchObject({ readOnlyHint: true });
    expect(hints['pause_loop']).toMatchObject({ readOnlyHint: false, destructiveHint: false });
    expect(hints['stop_loop']).toMatchObject({ readOnlyHint: false, destructiveHint: true });
    for (const { description, inputSchema } of tools) {
      expect(description).toMatch(/\.$/);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    }

    const list = await mcp.call('list_loops');
    expect(list.data).toMatchObject({ loops: [{ name: 'it', status: 'done', iterations: 1 }] });
    expect(JSON.parse(list.text)).toEqual(list.data);
    expect((await mcp.call('list_loops', { status: 'running' })).data).toMatchObject({ loops: [] });
    const status = await mcp.call('loop_status', { name: 'it' });
    expect(status.data).toMatchObject({ name: 'it', status: 'done', workspace: stage.workspace });
    expect(JSON.parse(status.text)).toEqual(status.data);
    expect(await mcp.says('loop_story', { name: 'it' })).toMatch(/check.*passed/);
    const logs = await mcp.says('loop_logs', { name: 'it' });
    expect(logs).toContain('one red bell <redacted>\n');
    expect(logs).not.toContain('zebra');
  });

  it('gets one clear error for bad arguments, unknown loops and unknown tools', SLOW, async () => {
    const stage = openStage();
    await stage.run('-p', 'work', '-m', '1');
    const mcp = await assistantOf(stage);
    expect(await mcp.refuses('loop_status', { name: 'other' })).toBe(
      'no loop named "other" in this workspace (known here: it; ralph ls --all shows all)',
    );
    // A text of the client never becomes an option or a path.
    for (const name of ['--all', '-h', '../it', '', 'it\n', 'a'.repeat(65)])
      // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
      expect(await mcp.refuses('loop_status', { name })).toMatch(/^Input validation error: .*name/s);
    expect(await mcp.refuses('loop_status')).toMatch(/^Input validation error: .*name/s);
    expect(await mcp.refuses('loop_status', { name: 'it', cwd: '/' })).toContain('"cwd"');
    expect(await mcp.refuses('loop_logs', { name: 'it', run: '../1' })).toContain('run');
    expect(await mcp.refuses('loop_logs', { name: 'it', run: '9' })).toContain('has no run 9');
    expect(await mcp.refuses('loop_logs', { name: 'it', lines: 100_000 })).toContain('lines');
    expect(await mcp.refuses('loop_story', { name: 'it', since: 'yesterday' })).toContain('2h');
    const journal = stage.file('journal.jsonl');
    const lines = readFileSync(journal, 'utf8').split('\n');
    writeFileSync(journal, [...lines.slice(0, 4), 'damaged', ...lines.slice(5)].join('\n'));
    expect(await mcp.refuses('loop_story', { name: 'it' })).toContain('journal.jsonl');
    await expect(mcp.call('drop_tables')).rejects.toThrow('Tool drop_tables not found');
    expect(mcp.stderr).toBe('');
  });

  it('ends with its input, and answers what is no message with nothing', async () => {
    const stage = openStage();
    const [gone, odd] = await Promise.all([
      stage.ralph('mcp').ended,
      stage.shell(`printf 'no message\\n{"jsonrpc":"2.0","id":1,"method":"ping"}\\n' | $RALPH mcp`).ended,
    ]);
    expect(gone).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(odd.code).toBe(0);
    // stdout carries the protocol and nothing else.
    for (const line of odd.stdout.split('\n').filter(Boolean))
      expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
  });

  it('answers a line of 50 MB with an error, goes on, and needs no memory for it', SLOW, async () => {
    const stage = openStage();
    const peak = join(stage.plan, 'peak');
    const measure = new URL('../fixtures/tells-peak-memory.mjs', import.meta.url).pathname;
    const long = (start: string, end: string): string =>
      `printf '%s' '${start}'; head -c 52428800 /dev/zero | tr '\\0' x; printf '%s\\n' '${end}'`;
    const lines = [
      long('{"method":"tools/call","params":{"text":"', '"},"jsonrpc":"2.0","id":7}'),
      long('{"jsonrpc":"2.0","id":"a b","method":"tools/call","params":{"text":"', '"}}'),
      long('', ''),
      `printf '%s\\n' '{"jsonrpc":"2.0","id":9,"method":"ping"}'`,
    ];
    const command = `node --import "${measure}" "${stage.main}" mcp`;
    const served = await stage.shell(`{ ${lines.join('; ')}; } | ${command}`, { RALPH_E2E_PEAK: peak }).ended;
    expect(served).toMatchObject({ code: 0, stderr: '' });
    const answers = served.stdout.split('\n').filter(Boolean);
    const message = 'the line is longer than 8 MB; send less at once';
    const error = { code: -32_600, message };
    expect(answers.map((line): unknown => JSON.parse(line))).toMatchObject([
      { id: 7, error },
      { id: 'a b', error },
      { error },
      { id: 9 },
    ]);
    expect(Number(readFileSync(peak, 'utf8')) / 1024).toBeLessThan(200);
  });

  it(
    'changes only what the settings allow, and a repository cannot allow anything by itself',
    SLOW,
    async () => {
      const stage = openStage({ trust: false });
      stage.settings({ agent: { command: stage.agent }, mcp: { allow: ['start', 'pause'] } });
      const mcp = await assistantOf(stage);
      expect(await mcp.refuses('start_loop', { task: 'work' })).toMatch(
        /start_loop is not allowed yet: .* does not trust them.*ralph trust --show/,
      );
      expect(await mcp.refuses('stop_loop', { name: 'it' })).toMatch(
        /stop_loop is not allowed: the setting mcp\.allow does not list "stop".*settings\.json/,
      );
      userSettings(stage, { mcp: { allow: ['stop'] } });
      expect(await mcp.refuses('stop_loop', { name: 'it' })).toContain('no loop named "it"');
      expect(await mcp.refuses('pause_loop', { name: 'it' })).toContain('is not allowed yet');
      expect((await stage.ralph('trust').ended).code).toBe(0);
      expect(await mcp.refuses('pause_loop', { name: 'it' })).toContain('no loop named "it"');
      // A change of the file takes the trust away.
      stage.settings({ agent: { command: stage.agent }, mcp: { allow: ['start', 'pause', 'tell'] } });
      expect(await mcp.refuses('pause_loop', { name: 'it' })).toContain('is not allowed yet');
      const shown = await stage.ralph('trust', '--show').ended;
      expect(shown.stdout).toMatch(
        /changes what assistants may do to loops \(ralph mcp\):\n {2}\+ mcp\.allow {2}tell/,
      );
      expect(stage.loops).toEqual([]);

      // What a subfolder allows is not allowed for a loop of the folder above.
      stage.settings({});
      stage.write('sub/.ralph/settings.json', JSON.stringify({ mcp: { allow: ['tell'] } }));
      expect((await stage.ralph('trust', '--cwd', 'sub').ended).code).toBe(0);
      expect((await stage.run('-p', 'work', '-m', '1')).code).toBe(1);
      userSettings(stage, {});
      const below = await assistantOf(stage, '--cwd', 'sub');
      const inner = ['--name', 'inner', '--cwd', 'sub', '-m', '1', '--', stage.agent];
      await stage.ralph('run', 'work', ...inner).ended;
      expect(await below.says('tell_loop', { name: 'inner', text: 'x' })).toContain('queued for inner');
      expect(await below.refuses('tell_loop', { name: 'it', text: 'x' })).toContain('is not allowed: ');
    },
  );

  it('starts, pauses, tells, resumes and stops a loop', SLOW, async () => {
    const stage = openStage();
    stage.settings({
      agent: { command: stage.agent },
      mcp: { allow: ['start', 'pause', 'resume', 'stop', 'tell'] },
    });
    stage.plans(1, waitFor('one'));
    stage.plans(2, waitFor('two'));
    const mcp = await assistantOf(stage);
    expect(await mcp.refuses('start_loop', {})).toContain('give either task or prompt_file');
    expect(await mcp.refuses('start_loop', { prompt_file: '../secret' })).toContain(
      'must be a path in the workspace',
    );
    expect(await mcp.refuses('start_loop', { task: 'x', sandbox: false })).toContain('sandbox');
    const started = await mcp.call('start_loop', {
      task: '--version\nis no option',
      name: 'it',
      max_iterations: 5,
    });
    expect(started.data).toMatchObject({ started: { name: 'it', status: 'running', iterationLimit: 5 } });
    await stage.waitForCall(1);
    expect(stage.given(1, 'stdin')).toContain('--version\nis no option');

    expect(await mcp.says('pause_loop', { name: 'it' })).toContain('paus');
    expect(await mcp.says('tell_loop', { name: 'it', text: '--cwd=/\nlook at the second line' })).toContain(
      'delivered',
    );
    stage.release('one');
    await stage.waitForEvents('run.ended');
    await stage.ralph('wait', 'it').ended;
    expect((await mcp.call('loop_status', { name: 'it' })).data).toMatchObject({ status: 'paused' });
    expect(await mcp.says('resume_loop', { name: 'it' })).toContain('it');
    await stage.waitForCall(2);
    expect(stage.given(2, 'stdin')).toContain('--cwd=/\nlook at the second line');
    expect(await mcp.says('stop_loop', { name: 'it', now: true })).toContain('stopping it now');
    await stage.ralph('wait', 'it').ended;
    expect((await mcp.call('loop_status', { name: 'it' })).data).toMatchObject({ status: 'stopped' });
  });

  it('starts a daemon for loops that have none, as every command does', SLOW, async () => {
    const stage = openStage();
    stage.plans(1, waitFor('one'));
    expect((await stage.run('-p', 'work', '-m', '1', '-d')).code).toBe(0);
    await stage.waitForCall(1);
    const mcp = await assistantOf(stage);
    expect((await stage.ralph('daemon', 'stop').ended).code).toBe(0);
    expect((await stage.ralph('daemon', 'status').ended).code).toBe(1);
    await mcp.call('list_loops');
    let code: unknown = null;
    for (let tries = 0; code !== 0 && tries < 200; tries++)
      // oxlint-disable-next-line no-await-in-loop -- until it runs
      ({ code } = await stage.ralph('daemon', 'status').ended);
    expect(code).toBe(0);
    stage.release('one');
    await stage.ralph('wait', 'it').ended;
  });

  it('answers the question of an agent', SLOW, async () => {
    const stage = openStage();
    stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
    userSettings(stage, { mcp: { allow: ['answer'] } });
    stage.plans(1, '$RALPH bus post --type QUESTION "Tabs or spaces?"');
    const ralph = stage.starts('-p', 'work', '-m', '2');
    await ralph.until('Tabs or spaces?');
    const mcp = await assistantOf(stage);
    expect((await mcp.call('list_loops')).text).toContain('Tabs or spaces?');
    expect(await mcp.refuses('answer_question', { name: 'it', text: 'x', question: 'MSG-1' })).toContain(
      'MSG-1',
    );
    expect(await mcp.says('answer_question', { name: 'it', text: '--tabs' })).toContain('answered it');
    await stage.waitForCall(2);
    expect(stage.given(2, 'stdin')).toContain('The answer: --tabs');
    await ralph.ended;
  });
});
