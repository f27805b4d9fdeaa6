/** Agents given by name: how Ralph calls them, reads them and finds out which are installed. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { exits, Program } from '../rig/cli/program.ts';
import type { Rig } from '../rig/cli/rig.ts';
import { CLAIM, finishes, json, says, setUpAgents, succeeds, type AgentRig } from './agent-rig.ts';

let agents: AgentRig;
let rig: Rig;
beforeEach(async () => {
  agents = await setUpAgents();
  ({ rig } = agents);
});
afterEach(() => rig.tearDown());

describe('an agent given by name', () => {
  it('runs headless, autonomous and with stream output, gets its prompt on stdin, and --verbose shows the command', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--model', 'opus', '-V');
    const turn = await rig.nextTurn();
    expect(turn.argv.join(' ')).toBe(
      '-p --output-format stream-json --verbose --dangerously-skip-permissions --model opus',
    );
    expect(turn.prompt).toContain('a task');
    await finishes(turn);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stderr).toContain('stream stats: 2 events, 0 errors');
    expect(end.stderr).toContain(
      'claude -p --output-format stream-json --verbose --dangerously-skip-permissions --model opus\n',
    );
    expect(end.stdout).toBe(`${CLAIM}\n`);
    expect(JSON.parse(rig.loop('a').read('spec.json'))).toMatchObject({
      agent: { kind: 'claude', argv: ['claude', '--dangerously-skip-permissions', '--model', 'opus'] },
    });
  });

  it('S2.106 is identified by the base name of its command, with or without .exe', async () => {
    const path = agents.installs('Codex.exe');
    const program = agents.run('--', path);
    const turn = await rig.nextTurn();
    expect(turn.argv[0]).toBe('e');
    await turn.prints(
      json({
        type: 'item.completed',
        item: { id: '1', type: 'agent_message', text: CLAIM },
      }),
    );
    await turn.prints(json({ type: 'turn.completed', usage: { input_tokens: 10, output_tokens: 2 } }));
    await turn.exits(0);
    exits(await program.ended, 0);
    expect(rig.loop('a').state.spent.tokens.input).toBe(10);
  });

  it('gets no permission flags from Ralph if the user passes flags', async () => {
    agents.installs('claude');
    const program = agents.run('--', 'claude', '-p', '--allowedTools', 'Edit');
    const turn = await rig.nextTurn();
    expect(turn.argv).toEqual([
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--allowedTools',
      'Edit',
    ]);
    await finishes(turn);
    exits(await program.ended, 0);
  });

  it('runs as a plain command with --output-format text or --agent custom', async () => {
    agents.installs('claude');
    for (const args of [
      ['--', 'claude', '-p', '--output-format', 'text'],
      ['--agent', 'custom', '--', 'claude', '-p'],
    ]) {
      const program = agents.run('--fresh', ...args);
      // oxlint-disable-next-line no-await-in-loop -- one loop after the other
      const turn = await rig.nextTurn();
      expect(turn.argv).toEqual(args.slice(args.indexOf('claude') + 1));
      // oxlint-disable-next-line no-await-in-loop -- as above
      await turn.prints('<promise>DONE</promise>\n');
      // oxlint-disable-next-line no-await-in-loop -- as above
      await turn.exits(0);
      // oxlint-disable-next-line no-await-in-loop -- as above
      exits(await program.ended, 0);
    }
  });

  it('gets its prompt as one argument with --prompt-via argument, without a shell', async () => {
    agents.installs('amp');
    const words = `it's "$HOME" \`id\`\nand more`;
    const program = agents.ralph(
      'run',
      '-p',
      words,
      '--name',
      'a',
      '--agent',
      'amp',
      '--prompt-via',
      'argument',
    );
    const turn = await rig.nextTurn();
    expect(turn.argv.slice(0, -1)).toEqual(['--stream-json', '--dangerously-allow-all', '-x']);
    expect(turn.argv.at(-1)).toBe(rig.loop('a').read('runs', '0001', 'prompt.md'));
    expect(turn.argv.at(-1)).toContain(words);
    expect(turn.prompt).toBe('');
    await turn.prints(says(CLAIM) + succeeds());
    await turn.exits(0);
    exits(await program.ended, 0);
  });

  it('S1.67 sees the variables of --env and not those of --drop-env; conductor also drops the keys of other agents', async () => {
    agents.installs('claude');
    agents.env = {
      ...agents.env,
      ANTHROPIC_API_KEY: 'own-key-123',
      GEMINI_API_KEY: 'other-key-123',
      CLAUDECODE: '1',
      IS_SANDBOX: 'yes',
      SECRET: 'x',
    };
    const args = ['--agent', 'claude', '--env', 'EXTRA=a=b', '--drop-env', 'SECRET'];
    const program = agents.run(...args, '--env', 'MY_TOKEN=very-secret-value');
    const turn = await rig.nextTurn();
    expect(turn.env).toMatchObject({
      EXTRA: 'a=b',
      ANTHROPIC_API_KEY: 'own-key-123',
      GEMINI_API_KEY: 'other-key-123',
    });
    expect(turn.env['SECRET']).toBeUndefined();
    expect(turn.env['CLAUDECODE']).toBeUndefined();
    // As root, the adapter needs IS_SANDBOX=1 and overrides the inherited value.
    expect(turn.env['IS_SANDBOX']).toBe(process.getuid?.() === 0 ? '1' : 'yes');
    await finishes(turn);
    exits(await program.ended, 0);
    for (const file of ['spec.json', 'journal.jsonl', 'state.json']) {
      expect(rig.loop('a').read(file)).not.toContain('very-secret-value');
    }
    const conductor = agents.ralph('run', 'x', '--name', 'b', '--preset', 'conductor', '-m', '1', ...args);
    const conductorTurn = await rig.nextTurn();
    expect(conductorTurn.env['ANTHROPIC_API_KEY']).toBe('own-key-123');
    expect(conductorTurn.env['GEMINI_API_KEY']).toBeUndefined();
    await conductorTurn.exits(0);
    await conductor.ended;

    // An agent can call `ralph`: the folder of a command with that name comes first in its PATH.
    const own = join(rig.folder, 'own');
    mkdirSync(own);
    symlinkSync(rig.command, join(own, 'ralph'));
    const named = new Program(
      [process.execPath, join(own, 'ralph'), 'run', 'x', '--name', 'c', '-m', '1', ...args],
      {
        cwd: rig.workspace,
        env: { ...rig.env, ...agents.env },
        peakFile: join(rig.folder, 'peak'),
      },
    );
    const namedTurn = await rig.nextTurn();
    expect(namedTurn.env['PATH']?.split(':')[0]).toBe(own);
    await finishes(namedTurn);
    exits(await named.ended, 0);
  });
});

describe('the settings of a workspace', () => {
  const settings = (agent: unknown, file = 'settings.json'): void => {
    mkdirSync(rig.path('.ralph'), { recursive: true });
    rig.write(`.ralph/${file}`, JSON.stringify({ agent }));
  };

  it('S2.31 choose the agent, its flags, its model and the variables to drop; settings.local.json overrides settings.json', async () => {
    agents.installs('claude');
    agents.env = { ...agents.env, SECRET: 'x' };
    settings({ command: 'claude', flags: ['--model opus'], env: { drop: ['SECRET'] } });
    settings({ flags: ['--allowedTools Edit'], promptVia: 'argument' }, 'settings.local.json');
    const program = agents.run('--model', 'haiku');
    const turn = await rig.nextTurn();
    const prompt = rig.loop('a').read('runs', '0001', 'prompt.md');
    const head = ['-p', '--output-format', 'stream-json', '--verbose'];
    expect(turn.argv).toEqual([...head, '--allowedTools', 'Edit', '--model', 'haiku', prompt]);
    expect(turn.env['SECRET']).toBeUndefined();
    await finishes(turn);
    exits(await program.ended, 0);
  });

  it('are rejected with the key and the expected value if they are invalid, and no loop starts', async () => {
    const cases: readonly (readonly [unknown, string])[] = [
      ['claude', 'agent must be an object, got "claude"'],
      [{ command: 7 }, 'agent.command must be a string, got 7'],
      [{ flags: '--x' }, 'agent.flags must be a list of strings, got "--x"'],
      [{ flags: ['a', 1] }, 'agent.flags[1] must be a string, got 1'],
      [{ promptVia: 'pigeon' }, 'agent.promptVia must be one of stdin, file, argument'],
      [{ comand: 'claude' }, 'unknown key "agent.comand" (did you mean command?)'],
    ];
    for (const [agent, message] of cases) {
      settings(agent);
      // oxlint-disable-next-line no-await-in-loop -- one file for all
      const end = await agents.run().ended;
      exits(end, 2);
      expect(end.stderr.replace(/:1:\d+:/, ':1:')).toContain(`.ralph/settings.json:1: ${message}`);
    }
    rig.write('.ralph/settings.json', '{');
    expect((await agents.run().ended).stderr).toContain(
      '.ralph/settings.json:1:2: not valid JSON: expected "}"',
    );
    expect((await rig.does('ls', '--json')).stdout.trim()).toBe('[]');
  });
});

describe('an exit code that contradicts the stream', () => {
  it('is not a success if it is 0 and the stream has no result', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    await turn.prints(says(CLAIM));
    await turn.exits(0);
    await program.ended;
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'failure', ending: { code: 0 } });
  });

  it('is not a failure if the stream reports success', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    await turn.prints(says(CLAIM) + succeeds());
    await turn.exits(1);
    exits(await program.ended, 0);
    expect(rig.loop('a').all('run.ended')[0]).toMatchObject({ as: 'ok', ending: { code: 1 } });
  });
});

describe('an agent that cannot work', () => {
  it('ends the loop with its stderr and a remedy if it has no API key', async () => {
    agents.installs('gemini');
    const program = agents.run('--agent', 'gemini');
    const turn = await rig.nextTurn();
    await turn.complains(
      'When using Gemini API, you must specify the GEMINI_API_KEY environment variable.\n',
    );
    await turn.exits(41);
    const end = await program.ended;
    exits(end, 3);
    expect(end.stderr).toContain('error: When using Gemini API, you must specify the GEMINI_API_KEY');
    expect(end.stderr).toContain('or set GEMINI_API_KEY');
  });

  it('ends the loop with the name of the denied tool and how to allow it', async () => {
    agents.installs('claude');
    const program = agents.run('--', 'claude', '-p');
    const turn = await rig.nextTurn();
    await turn.prints(succeeds({ result: 'I may not', permission_denials: [{ tool_name: 'Bash' }] }));
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 3);
    expect(end.stderr).toContain(
      'error: the agent was not allowed to use Bash; allow it in the settings of claude, or add --dangerously-skip-permissions to its flags: after --, or in agent.flags',
    );
  });
});

describe('a stream with invalid lines', () => {
  it('is kept in full, and one note counts the lines that Ralph cannot read', async () => {
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '1');
    const turn = await rig.nextTurn();
    await turn.prints(
      '\u0000\u0001\u0007 junk\n{"type":\n[1,2]\n{"type":"assistant"}\n{"type":"new.thing"}\n',
    );
    await turn.prints(json({ type: 'new.thing', data: 'x'.repeat(10 * 1024 * 1024) }));
    await turn.prints(says('fine\n<promise>DONE</promise>') + succeeds());
    await turn.exits(0);
    const end = await program.ended;
    exits(end, 0);
    expect(end.stdout).toContain('junk\n');
    expect(end.stderr.match(/could not parse/g)).toHaveLength(1);
    expect(end.stderr).toContain(
      "could not parse 6 lines of the agent's output; see all of it with: ralph logs a --run 1.1 --raw",
    );
    expect(rig.loop('a').read('runs', '0001', 'stdout.log').length).toBeGreaterThan(10 * 1024 * 1024);
  });
});

function installFake(name: string, help: string): void {
  agents.program(name, `case "$*" in *--version) echo "${name} 9.8.7";; *) echo "${help}";; esac`);
}

describe('ralph agents', () => {
  it('lists the installed agents with their commands, and how to install the others', async () => {
    installFake('claude', '--output-format --verbose --dangerously-skip-permissions');
    const end = await agents.ralph('agents').ended;
    exits(end, 0);
    expect(end.stdout).toMatch(/^claude +9\.8\.7 +2\.1\.325 +cost +claude -p --output-format stream-json/m);
    expect(end.stdout).toMatch(
      /^codex +no +0\.166\.0 +tokens +install with: npm install -g @openai\/codex$/m,
    );
    const listed: unknown = JSON.parse((await agents.ralph('agents', '--json').ended).stdout);
    expect(listed).toContainEqual(expect.objectContaining({ name: 'claude', version: '9.8.7' }));
  });
});

describe('ralph doctor', () => {
  it('tries the installed agents, and prints a remedy for every problem', async () => {
    const bare = await agents.ralph('doctor').ended;
    exits(bare, 1);
    expect(bare.stdout).toMatch(
      /\[ERR\] agents .*no supported agent is installed\n +→ install one, for example: npm/,
    );
    const rows = bare.stdout.split('\n');
    const problem = rows.findIndex((row) => row.includes('no supported agent'));
    expect(rows[problem + 1]?.indexOf('→')).toBe(rows[problem]?.indexOf('no supported agent'));
    // tmux is optional.
    expect(bare.stdout).not.toContain('tmux');
    installFake('claude', '--output-format --verbose --dangerously-skip-permissions');
    installFake('codex', 'nothing of that kind');
    const end = await agents.ralph('doctor').ended;
    exits(end, 0);
    expect(end.stdout).toMatch(
      /\[!\] +claude .*9\.8\.7 \(ralph was tested with 2\.1\.325\), not logged in\n +→ log in with: claude/,
    );
    expect(end.stdout).toMatch(
      /\[!\] +codex .*version 9\.8\.7 does not support --json, .*\n +→ ralph was tested with/,
    );
    expect(end.stdout).toMatch(/\[OK\] +git /);
  });
});
