import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Policy } from '../loop/policy.ts';
import { chooseAgent, notesOn, withSettings, type AgentChoice } from './choose-agent.ts';

let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'ralph-choose-'));
  writeFileSync(join(bin, 'codex'), '#!/bin/sh\n');
  chmodSync(join(bin, 'codex'), 0o755);
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

const nothing: AgentChoice = { agent: null, model: null, command: [], promptVia: null, drop: [], given: [] };
const PERMISSION_FLAGS = ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'];

describe('an agent', () => {
  const choose = (choice: Partial<AgentChoice>, calls: Policy['calls'] = 'autonomous') =>
    chooseAgent({ ...nothing, ...choice }, { calls, host: 'process' }, { PATH: `${bin}:/usr/bin:/bin` }, bin);

  it('is called the same way by its name and by its bare command', async () => {
    expect(await choose({ agent: 'codex' })).toEqual({ kind: 'codex', argv: ['codex', ...PERMISSION_FLAGS] });
    expect(await choose({ command: ['codex'] })).toEqual({
      kind: 'codex',
      argv: ['codex', ...PERMISSION_FLAGS],
    });
    expect(await choose({ command: ['codex', '--full-auto'] })).toEqual({
      kind: 'codex',
      argv: ['codex', '--full-auto'],
    });
  });

  it('has its model in the spec too, for the price', async () => {
    expect(await choose({ agent: 'codex', model: 'gpt-5' })).toEqual({
      kind: 'codex',
      argv: ['codex', ...PERMISSION_FLAGS, '--model', 'gpt-5'],
      model: 'gpt-5',
    });
  });

  it('S2.36 has the flags of document 001 if the program supports them, else flags with the same meaning', async () => {
    const codex = (help: string): void => {
      writeFileSync(join(bin, 'codex'), `#!/bin/sh\necho '${help}'\n`);
      chmodSync(join(bin, 'codex'), 0o755);
    };
    codex('Usage: codex exec [--full-auto] [--json]');
    expect(await choose({ agent: 'codex' }, 'documented')).toEqual({
      kind: 'codex',
      argv: ['codex', '--full-auto'],
      promptVia: 'file',
    });
    expect(await choose({ command: ['codex', '--model', 'o'] }, 'documented')).toMatchObject({
      argv: ['codex', '--full-auto', '--model', 'o'],
    });
    codex('Usage: codex exec [--json]');
    expect(await choose({ agent: 'codex' }, 'documented')).toMatchObject({
      argv: ['codex', '--sandbox', 'workspace-write', '--skip-git-repo-check'],
    });
    // An answer that is not a help text does not prove that a flag is missing.
    codex('hello');
    expect(await choose({ agent: 'codex' }, 'documented')).toMatchObject({ argv: ['codex', '--full-auto'] });
  });

  it.each([
    ['claude', ['--permission-mode', 'plan']],
    ['codex', ['--sandbox', 'read-only']],
    ['codex', ['-c', 'sandbox_mode=read-only']],
    ['opencode', ['--auto']],
    ['gemini', ['--approval-mode', 'plan']],
    ['qwen', ['--approval-mode', 'plan']],
    ['copilot', ['--deny-tool', 'shell']],
    ['amp', ['--dangerously-allow-all']],
  ])('%s %j: has the flags of the user and none of ours, in every preset', async (kind, flags) => {
    // Its help does not know the flag of document 001.
    writeFileSync(join(bin, kind), "#!/bin/sh\necho 'Usage: x [--json]'\n");
    chmodSync(join(bin, kind), 0o755);
    const ways = [
      { command: [kind, ...flags] },
      { agent: kind, command: [kind, ...flags] },
      withSettings(nothing, { command: kind, flags }),
      withSettings({ ...nothing, agent: kind }, { flags: [flags.join(' ')] }),
    ];
    const argvs = ways.flatMap((way) =>
      (['autonomous', 'documented'] as const).map(async (calls) => (await choose(way, calls)).argv),
    );
    expect(await Promise.all(argvs)).toEqual(argvs.map(() => [kind, ...flags]));
  });

  it('has a note that is true wherever it may not be allowed to work', async () => {
    writeFileSync(join(bin, 'claude'), '#!/bin/sh\n');
    chmodSync(join(bin, 'claude'), 0o755);
    const advice =
      'to allow that, add --dangerously-skip-permissions to its flags: after -- (-- claude --dangerously-skip-permissions), or in agent.flags';
    const own = await choose({ command: ['claude', '--model', 'opus'] });
    expect(notesOn(own)).toEqual([expect.stringContaining(advice)]);
    // Document 001 calls it without permissions, by its name too.
    const documented = await choose({ agent: 'claude' }, 'documented');
    expect(notesOn(documented)).toEqual([expect.stringContaining(advice)]);
    const allowed = ['claude', '--dangerously-skip-permissions'];
    expect(notesOn(await choose({ command: allowed }, 'documented'))).toEqual([]);
    expect(notesOn(await choose({ agent: 'claude' }))).toEqual([]);
  });
});
