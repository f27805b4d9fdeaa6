/** How the flags and the prompt of a user get into the command line of an agent. */
import { describe, expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

describe('own flags', () => {
  it.each([
    ['settings', []],
    ['settings and --agent', ['--agent', 'codex']],
    ['the command line', ['--', 'codex', '--sandbox', 'read-only']],
  ] as const)('that decide what codex may do are the only ones, from %s', async (_, args) => {
    for (const preset of ['ralph-cli', 'default']) {
      const stage = openLoadedStage();
      stage.installs('codex');
      const flags = args.length > 2 ? [] : ['--sandbox', 'read-only'];
      stage.settings({ preset, agent: { command: 'codex', flags } });
      // oxlint-disable-next-line no-await-in-loop -- one loop after the other
      const { stderr } = await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '1', ...args).ended;
      const words = stage.given(1, 'argv').split('\n');
      expect(words.slice(0, 4)).toEqual(['e', '--json', '--sandbox', 'read-only']);
      expect(words.join(' ')).not.toMatch(/dangerously|full-auto/);
      expect(stderr).not.toContain('may not be allowed');
    }
  });
});

describe('a prompt that begins with -', () => {
  const LIST = '- [ ] the first item\n';
  const FRONT_MATTER = '---\ntitle: x\n---\nDo it.\n';

  it.each([
    ['claude', (prompt: string) => ['--', prompt]],
    ['amp', (prompt: string) => [`--execute=${prompt}`]],
    ['codex', () => ['.ralph/prompt_001.txt']],
    ['fake-agent', (prompt: string) => [prompt]],
  ] as const)('reaches %s in the preset ralph-cli, from a file and from -p', async (name, last) => {
    const stage = openLoadedStage();
    const command = name === 'fake-agent' ? stage.agent : stage.installs(name);
    stage.settings({ preset: 'ralph-cli', agent: { command } });
    stage.write('P.md', LIST);
    await stage.ralph('run', '--name', 'it', '-f', 'P.md', '-m', '1').ended;
    await stage.ralph('run', '--name', 'it', '-p', FRONT_MATTER, '-m', '1').ended;
    for (const [index, prompt] of [LIST, FRONT_MATTER].entries()) {
      expect(stage.given(index + 1, 'argv').endsWith(`${last(prompt).join('\n')}\n`)).toBe(true);
      // The real codex does not open the file, but reads stdin.
      expect(stage.given(index + 1, 'stdin')).toBe(name === 'codex' ? prompt : '');
    }
  });

  it('is a task of ralph run and ralph loop too, wherever it stands', async () => {
    const stage = openLoadedStage();
    const agent = ['--', stage.agent];
    await stage.ralph('run', LIST, '--name', 'it', '-m', '1', ...agent).ended;
    await stage.ralph('run', '--name', 'it', '-m', '1', FRONT_MATTER, ...agent).ended;
    await stage.ralph('loop', FRONT_MATTER, '--check', 'false', '--name', 'l', '-m', '1', ...agent).ended;
    await stage.ralph(LIST, '--name', 'it', '-m', '1', ...agent).ended;
    expect(stage.calls).toBe(4);
    expect([1, 2, 3, 4].map((call) => stage.given(call, 'stdin'))).toEqual([
      expect.stringContaining(LIST.trim()),
      expect.stringContaining(FRONT_MATTER),
      expect.stringContaining(FRONT_MATTER.trim()),
      expect.stringContaining(LIST.trim()),
    ]);
    const { code, stderr } = await stage.ralph('run', '--no-such-option', '-m', '1').ended;
    expect(code).toBe(2);
    expect(stderr).toContain('unknown option');
  });

  /** src/agents/call.test.ts has the form of each agent. */
  it.each([
    { name: 'claude', via: 'argument' },
    { name: 'codex', via: 'argument' },
    { name: 'opencode', via: 'argument' },
    { name: 'gemini', via: 'argument' },
    { name: 'qwen', via: 'argument' },
    { name: 'copilot', via: 'argument' },
    { name: 'amp', via: 'argument' },
    { name: 'codex', via: 'stdin' },
    { name: 'codex', via: 'file' },
  ])('reaches $name with --prompt-via $via', async ({ name, via }) => {
    const stage = openLoadedStage();
    stage.installs(name);
    stage.write('P.md', FRONT_MATTER);
    const how = ['--agent', name, '--prompt-via', via, '--name', 'it', '-f', 'P.md', '-m', '1'];
    await stage.ralph('run', ...how).ended;
    const argv = stage.given(1, 'argv');
    const isProtected = argv.includes(`\n--\n${FRONT_MATTER}`) || argv.includes(`=${FRONT_MATTER}`);
    expect({ isProtected, isOnStdin: stage.given(1, 'stdin').startsWith(FRONT_MATTER) }).toEqual({
      isProtected: via === 'argument',
      isOnStdin: via !== 'argument',
    });
  });
});
