import { describe, expect, it } from 'vitest';
import { agentFor, agentNamed, ALL_AGENTS } from './agents.ts';
import { commandLine, decidesPermissions, flagsFrom, promptWay, type Called } from './call.ts';
import { remedyFor } from './remedies.ts';
import { readTrouble } from './trouble.ts';

interface AgentSpec extends Called {
  readonly kind: string;
}

const PROMPT = 'Do "it" now,\nplease.';
const line = (spec: AgentSpec, output: 'stream' | 'text' = 'stream') =>
  commandLine(agentNamed(spec.kind), spec, {
    output,
    folder: '/runs/7',
    via: promptWay(agentNamed(spec.kind), spec, 0),
    prompt: () => PROMPT,
    promptFile: '/runs/7/prompt.md',
  });
/** As `ralph run --agent` sets it up: the program, with the flags that let it work without asking. */
const spec = (kind: string, more: Partial<AgentSpec> = {}): AgentSpec => {
  const { call } = agentNamed(kind);
  return { kind, argv: [call?.command ?? kind, ...(call?.autonomous ?? [])], ...more };
};

describe('the command line of an agent', () => {
  it.each([
    ['claude', '-p --output-format stream-json --verbose --dangerously-skip-permissions'],
    ['codex', 'e --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -'],
    ['opencode', 'run --format json --title Ralph --print-logs --log-level ERROR --auto'],
    ['gemini', '--output-format stream-json --yolo --skip-trust'],
    ['qwen', '--output-format stream-json --yolo'],
    ['copilot', '--output-format json --no-auto-update --usage-output-file /runs/7/usage.json --allow-all'],
    ['amp', '--stream-json --dangerously-allow-all -x'],
  ])('%s: streams events and reads the prompt from stdin', (kind, expected) => {
    expect(line(spec(kind))).toEqual([kind, ...expected.split(' ')]);
  });

  it('keeps the title and the log of the user of opencode', () => {
    const own = ['opencode', '--title=Mine', '--log-level', 'DEBUG', '--auto'];
    expect(line(spec('opencode', { argv: own }))).toEqual([
      'opencode',
      'run',
      '--format',
      'json',
      '--print-logs',
      ...own.slice(1),
    ]);
  });

  it.each([
    ['claude', '-p --output-format text --dangerously-skip-permissions'],
    ['codex', 'e --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -o /runs/7/answer.txt -'],
    ['amp', '--dangerously-allow-all -x'],
  ])('%s: prints plain text in the text mode of document 001', (kind, expected) => {
    expect(line(spec(kind), 'text')).toEqual([kind, ...expected.split(' ')]);
  });

  it.each(['opencode', 'gemini', 'qwen', 'copilot'])('%s: streams events always, with its usage', (kind) => {
    expect(line(spec(kind), 'text')).toEqual(line(spec(kind)));
  });

  /** The forms that the real CLIs accept; `npm run test:agents` runs them. */
  it.each([
    ['claude', (prompt: string) => ['--', prompt]],
    ['codex', (prompt: string) => ['--', prompt]],
    ['opencode', (prompt: string) => ['--', prompt]],
    ['gemini', (prompt: string) => [`--prompt=${prompt}`]],
    ['qwen', (prompt: string) => [`--prompt=${prompt}`]],
    ['copilot', (prompt: string) => [`--prompt=${prompt}`]],
    ['amp', (prompt: string) => [`--execute=${prompt}`]],
    ['custom', (prompt: string) => [prompt]],
  ] as const)('%s: does not take a prompt that begins with - for an option', (kind, last) => {
    for (const prompt of ['- an item', '---\ntitle: x\n---\nwork', '--help']) {
      const given = spec(kind, { promptVia: 'argument' });
      const form = { output: 'stream', folder: '/runs/7', promptFile: '/p', prompt: () => prompt } as const;
      const words = commandLine(agentNamed(kind), given, { ...form, via: 'argument' });
      expect(words.slice(-last(prompt).length)).toEqual(last(prompt));
      expect(words.filter((word) => word === prompt || word.endsWith(`=${prompt}`))).toHaveLength(1);
    }
  });

  it.each([
    ['claude', [PROMPT]],
    ['codex', [PROMPT]],
    ['opencode', [PROMPT]],
    ['gemini', ['-p', PROMPT]],
    ['qwen', [PROMPT]],
    ['copilot', ['-p', PROMPT]],
    ['amp', ['-x', PROMPT]],
  ] as const)('%s: has the prompt as its last argument, in one piece', (kind, last) => {
    const words = line(spec(kind, { promptVia: 'argument' }));
    expect(words.slice(-last.length)).toEqual(last);
    expect(words.filter((word) => word === PROMPT)).toHaveLength(1);
    expect(words).not.toContain('-');
  });

  it.each(['claude', 'codex', 'opencode', 'gemini', 'qwen', 'copilot', 'amp'])(
    '%s: has the prompt file as its last argument',
    (kind) => {
      const words = line(spec(kind, { promptVia: 'file' }));
      expect(words.at(-1)).toBe('/runs/7/prompt.md');
      expect(words).not.toContain(PROMPT);
    },
  );

  it('keeps the program and the flags of the user unchanged', () => {
    const argv = ['/opt/claude-2/claude', '--allowedTools', 'Bash(git *)', '--model', 'opus'];
    expect(line({ kind: 'claude', argv })).toEqual([
      '/opt/claude-2/claude',
      '-p',
      '--output-format',
      'stream-json',
      '--verbose',
      '--allowedTools',
      'Bash(git *)',
      '--model',
      'opus',
    ]);
  });

  it('S4.22 is the given command for other programs, with the prompt if it is an argument', () => {
    const argv = ['./agent.sh', '-p', 'x'];
    expect(line({ kind: 'custom', argv })).toEqual(argv);
    expect(line({ kind: 'custom', argv, promptVia: 'argument' })).toEqual([...argv, PROMPT]);
    expect(line({ kind: 'custom', argv, promptVia: 'file' })).toEqual([...argv, '/runs/7/prompt.md']);
    expect(line({ kind: 'scripted', argv }, 'text')).toEqual(argv);
  });

  it('does not read the prompt if it is not an argument', () => {
    const prompt = (): string => {
      throw new Error('read');
    };
    const form = { output: 'stream', folder: '/runs/7', prompt, promptFile: '/runs/7/prompt.md' } as const;
    for (const via of ['stdin', 'file'] as const) {
      expect(() => commandLine(agentNamed('codex'), spec('codex'), { ...form, via })).not.toThrow();
    }
  });
});

describe('the setup of an agent', () => {
  it.each([
    ['claude', ['--model', 'm']],
    ['codex', ['--model', 'm']],
    ['opencode', ['--model', 'm']],
    ['gemini', ['--model', 'm']],
    ['qwen', ['--model', 'm']],
    ['copilot', ['--model', 'm']],
    ['amp', undefined],
  ])('%s: has flags that select a model', (kind, expected) => {
    expect(agentNamed(kind).call?.model?.('m')).toEqual(expected);
  });

  it('tells claude that it runs in a sandbox only as root', () => {
    const env = agentNamed('claude').call?.env;
    expect([env?.(0), env?.(1000)]).toEqual([{ IS_SANDBOX: '1' }, {}]);
  });

  it('passes the prompt as the spec says, or as the agent prefers, or on stdin', () => {
    for (const agent of ALL_AGENTS) expect(promptWay(agent, spec(agent.name), 10)).toBe('stdin');
    expect(promptWay(agentNamed('claude'), spec('claude', { promptVia: 'argument' }), 10)).toBe('argument');
    // Linux allows 128 KiB for one argument.
    const claude = spec('claude', { promptVia: 'argument' });
    expect(promptWay(agentNamed('claude'), claude, 200_000)).toBe('stdin');
    expect(promptWay(agentNamed('custom'), spec('custom', { promptVia: 'file' }), 10)).toBe('file');
    const qwen = { ...agentNamed('qwen') };
    const call = qwen.call === null ? null : { ...qwen.call, promptVia: 'argument' as const };
    expect(promptWay({ ...qwen, call }, spec('qwen'), 10)).toBe('argument');
  });

  it.each([
    ['claude', '-p --model opus --verbose --output-format stream-json', '--model opus'],
    ['claude', '--print --allowedTools Bash', '--allowedTools Bash'],
    ['codex', 'exec --json --sandbox workspace-write -', '--sandbox workspace-write'],
    ['opencode', 'run --format json --agent build', '--agent build'],
    ['gemini', '-o stream-json --sandbox -p', '--sandbox'],
    ['qwen', '--output-format stream-json --auth-type openai', '--auth-type openai'],
    ['copilot', '-p --output-format json --no-auto-update --allow-tool shell', '--allow-tool shell'],
    ['amp', '--stream-json --mode smart -x', '--mode smart'],
  ])('%s %s: removes the flags that the adapter adds itself', (kind, given, expected) => {
    const flags = flagsFrom(agentNamed(kind), given.split(' '));
    expect(flags).toEqual(expected.split(' '));
  });

  it.each([
    ['claude', '-p --output-format json'],
    ['claude', '--output-format=text'],
    ['gemini', '--output-format json'],
    ['qwen', '--output-format=json'],
    ['opencode', 'run --format default'],
    ['copilot', '--output-format text'],
    ['custom', 'anything at all'],
    ['gemini', '-o text'],
  ])('%s %s: does not ask for a stream of events', (kind, given) => {
    expect(flagsFrom(agentNamed(kind), given.split(' '))).toBeNull();
  });

  it('keeps values that look like flags of the adapter', () => {
    const claude = ['--append-system-prompt', 'text', '--allowedTools', 'Edit'];
    expect(flagsFrom(agentNamed('claude'), claude)).toEqual(claude);
    expect(flagsFrom(agentNamed('codex'), ['exec', '-c', 'x', '--profile', 'e'])).toEqual([
      '-c',
      'x',
      '--profile',
      'e',
    ]);
    expect(flagsFrom(agentNamed('opencode'), ['run', '--title', 'run'])).toEqual(['--title', 'run']);
  });

  it.each([
    ['claude', '--allowedTools Edit'],
    ['claude', '--permission-mode plan'],
    ['claude', '--disallowed-tools Bash'],
    ['codex', '--sandbox read-only'],
    ['codex', '--sandbox=read-only'],
    ['codex', '-s workspace-write'],
    ['codex', '-sread-only'],
    ['codex', '--full-auto'],
    ['codex', '-c sandbox_mode="read-only"'],
    ['codex', '-c approval_policy=never'],
    ['codex', '--config=approval_policy=never'],
    ['codex', '--profile careful'],
    ['opencode', '--auto'],
    ['gemini', '--approval-mode=plan'],
    ['gemini', '-y'],
    ['qwen', '--approval-mode plan'],
    ['copilot', '--allow-tool shell'],
    ['copilot', '--deny-tool shell'],
    ['amp', '--dangerously-allow-all'],
  ])('%s %s: decides what the agent may do', (kind, given) => {
    expect(decidesPermissions(agentNamed(kind), given.split(' '))).toBe(true);
  });

  it.each([
    ['claude', '--model opus --add-dir /tmp'],
    ['codex', '--model gpt-5 -c model_reasoning_effort=high --skip-git-repo-check'],
    ['opencode', '--agent build'],
    ['gemini', '--sandbox'],
    ['qwen', '--auth-type openai'],
    ['copilot', '--no-auto-update'],
    ['amp', '--mode smart'],
    ['custom', '--sandbox'],
  ])('%s %s: leaves that open', (kind, given) => {
    expect(decidesPermissions(agentNamed(kind), given.split(' '))).toBe(false);
  });

  it('advises what is true for the command line of an agent that was refused a permission', () => {
    const claude = agentNamed('claude');
    expect(remedyFor(claude, 'permission-denied', ['claude', '--model', 'opus'])).toBe(
      'allow it in the settings of claude, or add --dangerously-skip-permissions to its flags: after --, or in agent.flags',
    );
    expect(remedyFor(claude, 'permission-denied', spec('claude').argv)).toBe(
      'it runs with --dangerously-skip-permissions already, so a rule in the settings of claude forbids it; change that rule',
    );
    expect(remedyFor(agentNamed('custom'), 'permission-denied', ['x'])).toBeNull();
  });

  it('advises smaller steps, not a shorter prompt, if the context is full in the middle of a run', () => {
    const advice = (isMidRun: boolean): string | null =>
      remedyFor(agentNamed('claude'), 'request-refused', ['claude'], { isMidRun });
    expect(advice(false)).toMatch(/^shorten the prompt/);
    expect(advice(true)).toMatch(/^the run filled the context of its model: ask for smaller steps/);
    expect(advice(true)).not.toContain('prompt');
  });

  it('advises to check the permissions of a key that the provider denies access, not to log in', () => {
    const adviceOn = (status: number, message: string): string | null => {
      const { error } = readTrouble({ message, status }, 0);
      expect(error.kind).toBe('authentication');
      return remedyFor(agentNamed('claude'), error.kind, [], { message: error.message });
    };
    const login = 'log in with: claude /login, or set ANTHROPIC_API_KEY';
    expect(adviceOn(403, 'You are not allowed to sample from this model')).toBe(
      'the account or key lacks permission; check its access to this model, or use another key',
    );
    expect(adviceOn(403, 'OAuth token has been revoked. Please run /login')).toBe(login);
    expect(adviceOn(401, 'invalid x-api-key')).toBe(login);
  });

  it('finds the adapter by the name of the program', () => {
    expect(agentFor('/usr/local/bin/claude').name).toBe('claude');
    expect(agentFor('Codex.exe').name).toBe('codex');
    expect(agentFor('claude-wrapper').name).toBe('custom');
    expect(agentFor('').name).toBe('custom');
    expect(() => agentNamed('unknown')).toThrow('unknown agent: unknown; known agents: claude, codex');
  });
});
