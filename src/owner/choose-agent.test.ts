import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Policy } from '../loop/policy.ts';
import { chooseAgent, type AgentChoice } from './choose-agent.ts';

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
    chooseAgent({ ...nothing, ...choice }, calls, { PATH: `${bin}:/usr/bin:/bin` }, bin);

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

  it('S2.36 has the flags of document 001 if the program supports them, else those of its adapter', async () => {
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
      argv: ['codex', ...PERMISSION_FLAGS],
    });
    // An answer that is not a help text does not prove that a flag is missing.
    codex('hello');
    expect(await choose({ agent: 'codex' }, 'documented')).toMatchObject({ argv: ['codex', '--full-auto'] });
  });
});
