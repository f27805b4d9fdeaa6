import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseAgent, type AgentChoice } from './choose-agent.ts';

let bin: string;
beforeEach(() => {
  bin = mkdtempSync(join(tmpdir(), 'ralph-choose-'));
  writeFileSync(join(bin, 'codex'), '#!/bin/sh\n');
  chmodSync(join(bin, 'codex'), 0o755);
});
afterEach(() => rmSync(bin, { recursive: true, force: true }));

const nothing: AgentChoice = { agent: null, model: null, command: [], promptVia: null, drop: [], given: [] };
const POWER = ['--dangerously-bypass-approvals-and-sandbox', '--skip-git-repo-check'];

describe('an agent', () => {
  it('is called the same by its name and by its bare command', () => {
    const choose = (choice: Partial<AgentChoice>): unknown =>
      chooseAgent({ ...nothing, ...choice }, { PATH: bin }, bin);
    expect(choose({ agent: 'codex' })).toEqual({ kind: 'codex', argv: ['codex', ...POWER] });
    expect(choose({ command: ['codex'] })).toEqual({ kind: 'codex', argv: ['codex', ...POWER] });
    expect(choose({ command: ['codex', '--full-auto'] })).toEqual({
      kind: 'codex',
      argv: ['codex', '--full-auto'],
    });
  });

  it('keeps its model apart from its flags, for the price', () => {
    expect(chooseAgent({ ...nothing, agent: 'codex', model: 'gpt-5' }, { PATH: bin }, bin)).toEqual({
      kind: 'codex',
      argv: ['codex', ...POWER, '--model', 'gpt-5'],
      model: 'gpt-5',
    });
  });
});
