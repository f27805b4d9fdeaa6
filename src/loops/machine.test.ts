import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AgentCall } from '../agents/agent.ts';
import { ALL_AGENTS } from '../agents/agents.ts';
import { loginOf } from './machine.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'ralph-login-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function callOf(name: string): AgentCall {
  const call = ALL_AGENTS.find((agent) => agent.name === name)?.call ?? null;
  if (call === null) throw new Error(`no agent ${name}`);
  return call;
}

function writes(path: string, content: string): void {
  mkdirSync(dirname(join(home, path)), { recursive: true });
  writeFileSync(join(home, path), content);
}

describe('the login of an agent', () => {
  it.each([
    ['claude', '.claude/.credentials.json'],
    ['codex', '.codex/auth.json'],
    ['gemini', '.gemini/oauth_creds.json'],
    ['qwen', '.qwen/oauth_creds.json'],
    ['opencode', '.local/share/opencode/auth.json'],
    ['amp', '.local/share/amp/secrets.json'],
  ])('of %s is the file %s', (name, path) => {
    const env = { HOME: home };
    expect(loginOf(callOf(name), env).state).not.toBe('logged in');
    writes(path, '{}');
    expect(loginOf(callOf(name), env).state).not.toBe('logged in');
    writes(path, '{"token":"secret"}');
    expect(loginOf(callOf(name), env)).toEqual({ state: 'logged in' });
  });

  it('is looked for in the folder that a variable names', () => {
    writes('elsewhere/auth.json', '{"tokens":{}}');
    const env = { HOME: home, CODEX_HOME: join(home, 'elsewhere') };
    expect(loginOf(callOf('codex'), env)).toEqual({ state: 'logged in' });
    expect(loginOf(callOf('codex'), { HOME: home })).toEqual({ state: 'not logged in' });
  });

  it('is a key in the environment, which is named and not shown', () => {
    const env = { HOME: home, ANTHROPIC_API_KEY: 'sk-very-secret' };
    expect(loginOf(callOf('claude'), env)).toEqual({ state: 'key', variable: 'ANTHROPIC_API_KEY' });
  });

  it('is unknown where an agent may have it in another place', () => {
    expect(loginOf(callOf('copilot'), { HOME: home })).toEqual({ state: 'unknown' });
    expect(loginOf(callOf('gemini'), { HOME: home })).toEqual({ state: 'unknown' });
  });
});
