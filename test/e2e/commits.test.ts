import { mkdirSync } from 'node:fs';
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
  it('S2.65 S2.102 comes from the same agent, is never a line of JSON, and its cost counts (T068)', async () => {
    const { rig } = agents;
    agents.installs('claude');
    const program = agents.run('--agent', 'claude', '--max-cost', '5');
    const work = await rig.nextTurn();
    expect(work.argv).toContain('stream-json');
    await work.writes(rig.path('work'), '1');
    await finishes(work);
    const asked = await rig.nextTurn();
    expect(asked.prompt).toBe(QUESTION);
    await asked.prints(`${json({ type: 'system', subtype: 'init' })}${says('Let me look at the changes.')}`);
    await asked.prints(says('Fix parser', 'm2') + succeeds({ result: 'Fix parser', total_cost_usd: 0.25 }));
    await asked.exits(0);
    const { code, stderr } = await program.ended;
    expect(code).toBe(0);
    expect(subject()).toBe('Fix parser');
    expect(stderr).toMatch(/cost +\$0\.7500 reported/);
    expect(stderr).not.toContain('unknown cost');
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

  it('is the final answer in the stream of codex, whose tokens count', async () => {
    const { rig } = agents;
    agents.installs('codex');
    const program = agents.run('--agent', 'codex');
    const work = await rig.nextTurn();
    await work.writes(rig.path('work'), '1');
    const item = { id: 'i', type: 'agent_message', text: CLAIM };
    const completes = (tokens: number) =>
      json({ type: 'turn.completed', usage: { input_tokens: tokens, output_tokens: 1 } });
    await work.prints(json({ type: 'item.completed', item }) + completes(10));
    await work.exits(0);
    const asked = await rig.nextTurn();
    expect(asked.argv).toContain('--json');
    for (const [id, text] of [
      ['a', 'Let me look at the changes.'],
      ['b', 'Fix parser'],
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      await asked.prints(json({ type: 'item.completed', item: { id, type: 'agent_message', text } }));
    }
    await asked.prints(completes(20));
    await asked.exits(0);
    const { code, stderr } = await program.ended;
    expect(code).toBe(0);
    expect(subject()).toBe('Fix parser');
    expect(stderr).toContain('tokens: 30 in, 2 out, 0 cache read, 0 cache write\n');
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

  it('is read as text if the agent prints text, also by an owner that reattaches after a crash', async () => {
    const { rig } = agents;
    agents.installs('claude');
    const first = agents.starts('--agent', 'claude');
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
    const { code } = await rig.runs([...args, script], { cwd: folder }).ended;
    expect(code).toBe(0);
    expect(rig.git('show', '--format=%s', '--name-only', 'HEAD')).toBe('Work\n\npart/work\n');
  });
});
