import { describe, expect, it, onTestFinished } from 'vitest';
import { agentNamed } from '../agents/agents.ts';
import { LoopFolder } from '../home/home.ts';
import type { Spec } from '../home/spec.ts';
import { presets } from '../loop/presets.ts';
import { accountOf, agentEnvironment } from './loop-environment.ts';
import { projectId } from '../loop/names.ts';
import { runEnvironment, startersEnvironment } from '../home/run-environment.ts';

const spec = (agent: Spec['agent']): Spec => ({
  version: 1,
  id: 'a-12345678',
  name: 'a',
  workspace: '/w',
  created: '',
  agent,
  prompt: { text: 'x' },
  parent: null,
});
const claude = { kind: 'claude', argv: ['claude'] };

describe('the environment of an agent', () => {
  const see = (agent: Spec['agent'], env: Record<string, string>, preset: 'default' | 'conductor') =>
    agentEnvironment(
      {
        spec: spec(agent),
        folder: new LoopFolder({ id: 'a-1', name: 'a', workspace: '/w' }),
        env,
        run: '1.1',
        policy: presets[preset].policy,
      },
      agentNamed(agent.kind),
    );

  it('has the variables of its adapter, and not those that the loop drops', () => {
    const agent = { ...claude, env: { IS_SANDBOX: '1' }, drop: ['HIDDEN'] };
    const seen = see(agent, { HIDDEN: 'x', OTHER: 'y', CLAUDECODE: '1' }, 'default');
    expect(seen).toMatchObject({ IS_SANDBOX: '1', OTHER: 'y' });
    expect(seen).not.toHaveProperty('HIDDEN');
    expect(seen).not.toHaveProperty('CLAUDECODE');
  });

  it('S1.66 names the project, the task, the run, its parent and their folders, under the old and the new names', () => {
    const folder = '/w o/My_Project.v2/.ralph/loops/a';
    const of = (parent: Spec['parent']) =>
      runEnvironment({
        spec: { ...spec(claude), workspace: '/w o/My_Project.v2', parent },
        folder: new LoopFolder({ id: 'a-12345678', name: 'a', workspace: '/w o/My_Project.v2' }),
        env: { TASK_FOLDER: '/elsewhere', HOME: '/h' },
        run: '2.3',
        policy: presets.conductor.policy,
      });
    expect(of(null)).toEqual({
      HOME: '/h',
      JRUN_PROJECT_ID: 'my-project-v2',
      JRUN_TASK_ID: 'a',
      JRUN_ID: 'a-12345678.2.3',
      JRUN_PARENT_ID: '',
      JRUN_RUNS_DIR: `${folder}/runs`,
      JRUN_MESSAGE_BUS: `${folder}/TASK-MESSAGE-BUS.md`,
      JRUN_TASK_FOLDER: folder,
      JRUN_RUN_FOLDER: `${folder}/runs/0002.3`,
      TASK_FOLDER: folder,
      RUN_FOLDER: `${folder}/runs/0002.3`,
      RUNS_DIR: `${folder}/runs`,
      MESSAGE_BUS: `${folder}/TASK-MESSAGE-BUS.md`,
      RALPH_LOOP: 'a',
      RALPH_LOOP_FOLDER: folder,
      RALPH_RUN_FOLDER: `${folder}/runs/0002.3`,
      RALPH_ITERATION: '2',
      RALPH_DONE_FILE: `${folder}/DONE`,
      RALPH_PARENT_RUN_ID: '',
      RALPH_MESSAGE_BUS: `${folder}/TASK-MESSAGE-BUS.md`,
    });
    expect(of({ run: 'root-12345678.1.1', folder: '/s' })).toMatchObject({
      JRUN_PARENT_ID: 'root-12345678.1.1',
      RALPH_PARENT_RUN_ID: 'root-12345678.1.1',
    });
  });

  it('S1.66 of a loop that a run starts has none of the variables of that run', () => {
    const outer = runEnvironment({
      spec: spec(claude),
      folder: new LoopFolder({ id: 'a-12345678', name: 'a', workspace: '/w' }),
      env: { KEPT: 'x', RALPH_RUN_ID: 'a-12345678.1.1' },
      run: '1.1',
      policy: presets.conductor.policy,
    });
    expect(startersEnvironment(outer)).toEqual({ KEPT: 'x', PATH: '' });
  });

  it('S1.60 has a project id of lower-case letters, digits and inner hyphens, whatever the folder is called', () => {
    expect(['/a/Repo', '/a/--x--', '/', '/a/日本', '/a/1'].map(projectId)).toEqual([
      'repo',
      'x',
      'project',
      'project',
      '1',
    ]);
  });

  it('S1.67 has no API key of another agent in the preset conductor', () => {
    const names = [
      'ANTHROPIC_API_KEY',
      'OPENAI_API_KEY',
      'GEMINI_API_KEY',
      'PERPLEXITY_API_KEY',
      'XAI_API_KEY',
      'OPENAI_ORG_ID',
    ];
    const env = Object.fromEntries(names.map((name) => [name, 'key']));
    const keys = (agent: Spec['agent'], preset: 'default' | 'conductor'): readonly string[] =>
      names.filter((name) => name in see(agent, env, preset));
    expect(keys(claude, 'conductor')).toEqual(['ANTHROPIC_API_KEY']);
    expect(keys(claude, 'default')).toEqual(names);
    expect(keys({ kind: 'custom', argv: ['sh'] }, 'conductor')).toEqual(names);
  });

  it('S1.67 has the folder of the ralph command first in PATH, unless PATH contains it', () => {
    const [node = '', program = ''] = process.argv;
    onTestFinished(() => void process.argv.splice(0, 2, node, program));
    process.argv.splice(1, 1, '/opt/bin/ralph');
    const path = (PATH: string) => startersEnvironment({ PATH })['PATH'];
    expect(path('/usr/bin')).toBe('/opt/bin:/usr/bin');
    expect(path('/usr/bin:/opt/bin')).toBe('/usr/bin:/opt/bin');
  });
});

describe('an account', () => {
  it('differs by agent, key, home and custom command', () => {
    const account = (agent: Spec['agent'], env: Record<string, string>): string =>
      accountOf(spec(agent), env);
    const mine = account(claude, { HOME: '/h', ANTHROPIC_API_KEY: 'a' });
    expect(
      account({ kind: 'claude', argv: ['/opt/claude', '--x'] }, { HOME: '/h', ANTHROPIC_API_KEY: 'a' }),
    ).toBe(mine);
    const others = [
      account(claude, { HOME: '/h', ANTHROPIC_API_KEY: 'b' }),
      account(claude, { HOME: '/i', ANTHROPIC_API_KEY: 'a' }),
      account({ kind: 'codex', argv: ['codex'] }, { HOME: '/h', ANTHROPIC_API_KEY: 'a' }),
      account({ kind: 'custom', argv: ['./a'] }, { HOME: '/h' }),
      account({ kind: 'custom', argv: ['./b'] }, { HOME: '/h' }),
    ];
    expect(new Set([mine, ...others]).size).toBe(6);
  });
});
