import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLAIM, finishes, json, says, setUpAgents, succeeds, type AgentRig } from './agent-rig.ts';

const QUESTION =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';

let agents: AgentRig;
beforeEach(async () => {
  agents = await setUpAgents();
  const { rig } = agents;
  mkdirSync(rig.path('.ralph'));
  rig.write('.ralph/settings.json', JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } }));
});
afterEach(() => agents.rig.tearDown());

const subject = () => agents.rig.git('log', '-1', '--format=%s').trim();

describe('a commit message', () => {
  it('S2.65 S2.102 comes from the same agent in text mode, and is never a line of JSON (T068)', async () => {
    const { rig } = agents;
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-cost', '5');
    const work = await rig.nextTurn();
    expect(work.argv).toContain('stream-json');
    await work.writes(rig.path('work'), '1');
    await finishes(work);
    const asked = await rig.nextTurn();
    expect(asked.prompt).toBe(QUESTION);
    expect(asked.argv.join(' ')).toContain('--output-format text');
    expect(asked.argv.join(' ')).not.toContain('stream-json');
    await asked.prints('{"type":"system","subtype":"init"}\nFix parser\n');
    await asked.exits(0);
    const { code, stderr } = await program.ended;
    expect(code).toBe(0);
    expect(subject()).toBe('Fix parser');
    // The cost of a run in text mode is unknown; here that does not end a loop with --max-cost.
    expect(stderr).toContain('$0.5000 reported, plus 1 of 2 runs of unknown cost');
  });

  it('is not a claim, and is the task if the agent claims or fails instead of answering', async () => {
    const { rig } = agents;
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '-m', '2');
    const first = await rig.nextTurn();
    await first.writes(rig.path('work'), '1');
    await first.prints(says('working') + succeeds({ result: 'working' }));
    await first.exits(0);
    const asked = await rig.nextTurn();
    await asked.prints(`${CLAIM}\n`);
    await asked.exits(0);
    const second = await rig.nextTurn();
    expect(subject()).toBe('a task');
    await second.writes(rig.path('work'), '2');
    await finishes(second);
    const again = await rig.nextTurn();
    await again.prints('API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}\n');
    await again.exits(1);
    expect((await program.ended).code).toBe(0);
    expect(subject()).toBe('a task');
    expect(rig.loop('a').state.failures.total).toBe(0);
  });

  it('S2.39 is read from a file that codex writes, which Ralph deletes afterwards', async () => {
    const { rig } = agents;
    agents.installs('codex');
    const program = agents.run('--agent', 'codex');
    const work = await rig.nextTurn();
    await work.writes(rig.path('work'), '1');
    const item = { id: 'i', type: 'agent_message', text: CLAIM };
    await work.prints(json({ type: 'item.completed', item }) + json({ type: 'turn.completed', usage: {} }));
    await work.exits(0);
    const asked = await rig.nextTurn();
    expect(asked.argv).not.toContain('--json');
    const file = asked.argv[asked.argv.indexOf('-o') + 1] ?? '';
    await asked.prints('thinking…\nmuch else\n');
    await asked.writes(file, 'Fix parser\n');
    await asked.exits(0);
    expect((await program.ended).code).toBe(0);
    expect(subject()).toBe('Fix parser');
    expect(existsSync(file)).toBe(false);
  });

  it('is read from the text events of an agent without a text mode', async () => {
    const { rig } = agents;
    const program = agents.run('--agent', 'scripted', '--', ...rig.agent);
    const work = await rig.nextTurn();
    await work.writes(rig.path('work'), '1');
    await work.prints(json({ type: 'text', text: CLAIM }));
    await work.exits(0);
    const asked = await rig.nextTurn();
    await asked.prints(json({ type: 'thought', text: 'hm' }) + json({ type: 'text', text: 'Fix parser' }));
    await asked.exits(0);
    expect((await program.ended).code).toBe(0);
    expect(subject()).toBe('Fix parser');
  });

  it('S2.102 is also read as text by an owner that reattaches after a crash', async () => {
    const { rig } = agents;
    agents.installs('claude');
    const first = agents.run('--agent', 'claude');
    const work = await rig.nextTurn();
    await work.writes(rig.path('work'), '1');
    await finishes(work);
    const asked = await rig.nextTurn();
    await asked.prints('Fix ');
    await rig.loop('a').journals('run.started', ({ run }) => run === '1.2');
    await first.crashes();
    const second = agents.ralph('resume', 'a');
    await rig.loop('a').journals('owner.changed');
    await asked.prints('parser\n');
    await asked.exits(0);
    expect((await second.ended).code).toBe(0);
    expect(subject()).toBe('Fix parser');
    const shown = await agents.ralph('logs', 'a', '--run', '1.2').ended;
    expect(shown.stdout).toBe('Fix parser\n');
  });
});

describe('a workspace inside a larger repository', () => {
  it('commits only its own files', async () => {
    const { rig } = agents;
    const folder = rig.path('part');
    mkdirSync(join(folder, '.ralph'), { recursive: true });
    rig.write('part/.ralph/settings.json', JSON.stringify({ scm: { command: 'git', tasks: ['commit'] } }));
    rig.write('elsewhere', '1');
    const args = ['run', 'x', '--name', 'p', '--', '/bin/sh', '-c'];
    const script = `[ -e work ] && echo Work && exit; echo 1 >work; echo 2 >../elsewhere; echo '${CLAIM}'`;
    const { code } = await rig.ralph([...args, script], { cwd: folder }).ended;
    expect(code).toBe(0);
    expect(rig.git('show', '--format=%s', '--name-only', 'HEAD')).toBe('Work\n\npart/work\n');
  });
});
