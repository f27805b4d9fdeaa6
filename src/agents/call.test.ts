import { describe, expect, it } from 'vitest';
import { agentFor, agentNamed, AGENTS } from './agents.ts';
import { commandLine, flagsFrom, isTimid, promptWay, type Called } from './call.ts';

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
/** As the command line interface would set it up: the program, with the flags that let it work without asking. */
const spec = (kind: string, more: Partial<AgentSpec> = {}): AgentSpec => {
  const { call } = agentNamed(kind);
  return { kind, argv: [call?.command ?? kind, ...(call?.autonomous ?? [])], ...more };
};

describe('the command line of an agent', () => {
  it.each([
    ['claude', '-p --output-format stream-json --verbose --dangerously-skip-permissions'],
    ['codex', 'e --json --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -'],
    ['opencode', 'run --format json --auto'],
    ['gemini', '--output-format stream-json --yolo --skip-trust'],
    ['qwen', '--output-format stream-json --yolo'],
    ['copilot', '--output-format json --no-auto-update --usage-output-file /runs/7/usage.json --allow-all'],
    ['amp', '--stream-json --dangerously-allow-all -x'],
  ])('%s: a stream, with the prompt on the standard input', (kind, expected) => {
    expect(line(spec(kind))).toEqual([kind, ...expected.split(' ')]);
  });

  it.each([
    ['claude', '-p --output-format text --dangerously-skip-permissions'],
    ['codex', 'e --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check -o /runs/7/answer.txt -'],
    ['opencode', 'run --auto'],
    ['gemini', '--output-format text --yolo --skip-trust'],
    ['qwen', '--output-format text --yolo'],
    ['copilot', '--silent --no-auto-update --usage-output-file /runs/7/usage.json --allow-all'],
    ['amp', '--dangerously-allow-all -x'],
  ])('%s: plain text', (kind, expected) => {
    expect(line(spec(kind), 'text')).toEqual([kind, ...expected.split(' ')]);
  });

  it.each([
    ['claude', [PROMPT]],
    ['codex', [PROMPT]],
    ['opencode', [PROMPT]],
    ['gemini', ['-p', PROMPT]],
    ['qwen', [PROMPT]],
    ['copilot', ['-p', PROMPT]],
    ['amp', ['-x', PROMPT]],
  ] as const)('%s: the prompt as an argument comes last, in one piece', (kind, last) => {
    const words = line(spec(kind, { promptVia: 'argument' }));
    expect(words.slice(-last.length)).toEqual(last);
    expect(words.filter((word) => word === PROMPT)).toHaveLength(1);
    expect(words).not.toContain('-');
  });

  it.each(['claude', 'codex', 'opencode', 'gemini', 'qwen', 'copilot', 'amp'])(
    '%s: the file of the prompt as an argument comes last',
    (kind) => {
      const words = line(spec(kind, { promptVia: 'file' }));
      expect(words.at(-1)).toBe('/runs/7/prompt.md');
      expect(words).not.toContain(PROMPT);
    },
  );

  it('has the flags of the user, and its program, as they were given', () => {
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

  it('S4.22 of any other command is the command, and the prompt where it is asked for', () => {
    const argv = ['./agent.sh', '-p', 'x'];
    expect(line({ kind: 'custom', argv })).toEqual(argv);
    expect(line({ kind: 'custom', argv, promptVia: 'argument' })).toEqual([...argv, PROMPT]);
    expect(line({ kind: 'custom', argv, promptVia: 'file' })).toEqual([...argv, '/runs/7/prompt.md']);
    expect(line({ kind: 'scripted', argv }, 'text')).toEqual(argv);
  });

  it('does not read the prompt where it is not a part of it', () => {
    const prompt = (): string => {
      throw new Error('read');
    };
    const form = { output: 'stream', folder: '/runs/7', prompt, promptFile: '/runs/7/prompt.md' } as const;
    for (const via of ['stdin', 'file'] as const) {
      expect(() => commandLine(agentNamed('codex'), spec('codex'), { ...form, via })).not.toThrow();
    }
  });
});

describe('how an agent is set up', () => {
  it.each([
    ['claude', ['--model', 'm']],
    ['codex', ['--model', 'm']],
    ['opencode', ['--model', 'm']],
    ['gemini', ['--model', 'm']],
    ['qwen', ['--model', 'm']],
    ['copilot', ['--model', 'm']],
    ['amp', undefined],
  ])('%s: the flags of a model', (kind, expected) => {
    expect(agentNamed(kind).call?.model?.('m')).toEqual(expected);
  });

  it('claude is told that nothing can be harmed, as root only', () => {
    const env = agentNamed('claude').call?.env;
    expect([env?.(0), env?.(1000)]).toEqual([{ IS_SANDBOX: '1' }, {}]);
  });

  it('the prompt goes the way that the spec says, else that of the agent, else by the standard input', () => {
    for (const agent of AGENTS) expect(promptWay(agent, spec(agent.name), 10)).toBe('stdin');
    expect(promptWay(agentNamed('claude'), spec('claude', { promptVia: 'argument' }), 10)).toBe('argument');
    // Linux takes 128 KiB in one argument.
    const claude = spec('claude', { promptVia: 'argument' });
    expect(promptWay(agentNamed('claude'), claude, 200_000)).toBe('stdin');
    expect(promptWay(agentNamed('custom'), spec('custom', { promptVia: 'file' }), 10)).toBe('file');
    const loud = { ...agentNamed('qwen') };
    const call = loud.call === null ? null : { ...loud.call, promptVia: 'argument' as const };
    expect(promptWay({ ...loud, call }, spec('qwen'), 10)).toBe('argument');
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
  ])('%s %s: what the adapter says itself is not said twice', (kind, given, expected) => {
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
  ])('%s %s: is no stream of events', (kind, given) => {
    expect(flagsFrom(agentNamed(kind), given.split(' '))).toBeNull();
  });

  it('is not taken for what it only sounds like', () => {
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

  it('that leaves it without power is known', () => {
    expect(isTimid(agentNamed('claude'), ['claude', '--model', 'opus'])).toBe(true);
    expect(isTimid(agentNamed('claude'), ['claude', '--allowedTools', 'Edit'])).toBe(false);
    expect(isTimid(agentNamed('codex'), ['codex', '--full-auto'])).toBe(false);
    expect(isTimid(agentNamed('custom'), ['x'])).toBe(false);
  });

  it('is known by the name of its program', () => {
    expect(agentFor('/usr/local/bin/claude').name).toBe('claude');
    expect(agentFor('Codex.exe').name).toBe('codex');
    expect(agentFor('claude-wrapper').name).toBe('custom');
    expect(agentFor('').name).toBe('custom');
    expect(() => agentNamed('nobody')).toThrow('no agent adapter is called nobody');
  });
});
