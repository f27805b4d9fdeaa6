import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Program, Running } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import type { Turn } from '../rig/cli/turn.ts';

/** A rig whose PATH has only its own `bin` folder and the system's programs. */
export async function setUpAgents(): Promise<AgentRig> {
  const rig = await setUpRig();
  mkdirSync(join(rig.folder, 'bin'));
  return new AgentRig(rig);
}

/** With a wake lock that locks nothing. */
const TOOLS = fileURLToPath(new URL('../rig/bin', import.meta.url));
const TASK = ['run', 'a task', '--name', 'a'];

export class AgentRig {
  readonly rig: Rig;
  /** The PATH is short, so that no real agent of this machine is found. */
  env: Record<string, string>;

  constructor(rig: Rig) {
    this.rig = rig;
    this.env = { PATH: `${join(rig.folder, 'bin')}:${TOOLS}:/usr/bin:/bin` };
  }

  /** Puts the remote-controlled agent into PATH under this name. */
  installs(name: string): string {
    const [node = '', script = ''] = this.rig.agent;
    return this.program(name, `exec '${node}' '${script}' "$@"`);
  }

  /** Puts a shell script into PATH under this name. */
  program(name: string, script: string): string {
    const path = join(this.rig.folder, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** Runs a loop named `a` inside the test's process. */
  run(...args: readonly string[]): Running {
    return this.ralph(...TASK, ...args);
  }

  /** Starts a process that runs a loop named `a`, which can be killed. */
  starts(...args: readonly string[]): Program {
    return this.rig.ralph([...TASK, ...args], { env: this.env });
  }

  ralph(...args: readonly string[]): Running {
    return this.rig.runs(args, { env: this.env });
  }
}

export function json(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** A message in Claude Code's stream. */
export function says(text: string, id = 'm1', usage: object = {}): string {
  const content = [{ type: 'text', text }];
  return json({ type: 'assistant', message: { id, model: 'claude-opus-4-5', content, usage } });
}

/** The final result in Claude Code's stream. */
export function succeeds(more: object = {}): string {
  const result = { type: 'result', subtype: 'success', is_error: false, result: CLAIM, total_cost_usd: 0.5 };
  return json({ ...result, ...more });
}

export const CLAIM = '<promise>DONE</promise>';

export async function finishes(turn: Turn): Promise<void> {
  await turn.prints(says(CLAIM) + succeeds());
  await turn.exits(0);
}

/** The end of Claude Code's stream at a usage limit that resets then, in seconds since 1970. */
export function limited(resetsAt: number): string {
  const rejected = { status: 'rejected', resetsAt, rateLimitType: 'five_hour' };
  return (
    json({ type: 'rate_limit_event', rate_limit_info: rejected }) +
    json({
      type: 'result',
      subtype: 'success',
      is_error: true,
      result: 'You’ve hit your limit · resets 5pm (UTC)',
    })
  );
}

export function inAnHour(): number {
  return Math.floor(Date.now() / 1000) + 3600;
}

/** The end of Claude Code's stream if the provider is overloaded. */
export const OVERLOADED: string = json({
  type: 'result',
  subtype: 'success',
  is_error: true,
  api_error_status: 529,
  result: 'API Error: 529 Overloaded',
});
