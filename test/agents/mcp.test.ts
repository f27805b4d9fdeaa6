/** `ralph mcp` in the real CLIs, added as docs/mcp.md says. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { mentions } from './model-server.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { calls, runs, says } from './script.ts';
import { CHECK, endedWith, FIX, TASK } from './whole-loop.ts';

/** How the server is started. */
function serverOf({ stage }: Arena): readonly string[] {
  return [process.execPath, stage.main, 'mcp'];
}

/** Adds the server with the agent's own command. */
async function addBy(arena: Arena, program: string, args: readonly string[]): Promise<void> {
  const { workspace: cwd, env } = arena.stage;
  await promisify(execFile)(program, ['mcp', 'add', ...args, 'ralph', '--', ...serverOf(arena)], {
    cwd,
    env,
  });
}

const SCRIPT = [
  calls('post_message', { type: 'FACT', text: 'the file is called fixed' }),
  calls('claim_done', { note: 'too early' }),
  says('I have claimed.'),
  calls('check_results'),
  calls('read_messages'),
  runs(FIX),
  calls('claim_done'),
  says('I have claimed again.'),
];

const CLIENTS = [
  {
    agent: REAL_AGENTS.claude,
    add: (arena: Arena, program: string) => addBy(arena, program, ['--scope', 'user']),
    env: { ENABLE_TOOL_SEARCH: 'false' },
  },
  {
    // With newer models Codex lists the tools of servers only after a search, which the script does not do.
    agent: { ...REAL_AGENTS.codex, model: 'gpt-5.2' },
    add: (arena: Arena, program: string) => addBy(arena, program, []),
    env: {},
  },
  {
    agent: REAL_AGENTS.opencode,
    add: async (arena: Arena) => {
      const mcp = { ralph: { type: 'local', command: serverOf(arena), enabled: true } };
      arena.stage.write('opencode.json', JSON.stringify({ mcp }));
    },
    env: {},
  },
] as const;

describe.each(CLIENTS)('$agent.name', ({ agent, add, env }) => {
  it('claims through MCP, sees the results of the checks, and finds its messages again', async () => {
    const bin = await install(agent.package);
    const arena = await openArena(agent, bin, SCRIPT);
    const { stage, model } = arena;
    await add(arena, join(bin, agent.name));
    stage.write('check.sh', CHECK);
    const { stderr } = endedWith(0, await arena.run([...TASK, '-m', '3'], env));
    expect(stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
    expect(stderr).toContain('1 claim to be done, contradicted by a check');
    const asked = model.requests.filter(({ turn }) => typeof turn === 'number');
    const said = (text: string): readonly number[] =>
      asked.flatMap((one, index) => (mentions(one, text) ? [index] : []));
    // The answer of a tool is in the next question of the same run.
    expect(said('This is a claim, not completion.')).toEqual([2, 7]);
    expect(said('sh check.sh: failed (exit 1)')).toContain(4);
    expect(said('the file is called fixed')).toEqual(expect.arrayContaining([1, 5]));
  });
});
