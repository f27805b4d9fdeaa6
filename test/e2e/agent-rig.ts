import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Program } from '../rig/cli/program.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import type { Turn } from '../rig/cli/turn.ts';

/** A rig in whose PATH are agents by their names, each of them the remote-controlled one. */
export async function setUpAgents(): Promise<AgentRig> {
  const rig = await setUpRig();
  mkdirSync(join(rig.folder, 'bin'));
  return new AgentRig(rig);
}

export class AgentRig {
  readonly rig: Rig;
  /** Nobody's real agent may be found. */
  env: Record<string, string>;

  constructor(rig: Rig) {
    this.rig = rig;
    this.env = { PATH: `${join(rig.folder, 'bin')}:/usr/bin:/bin` };
  }

  installs(name: string): string {
    const [node = '', script = ''] = this.rig.agent;
    return this.program(name, `exec '${node}' '${script}' "$@"`);
  }

  program(name: string, script: string): string {
    const path = join(this.rig.folder, 'bin', name);
    writeFileSync(path, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A loop named `a`. */
  run(...args: readonly string[]): Program {
    return this.ralph('run', 'a task', '--name', 'a', ...args);
  }

  ralph(...args: readonly string[]): Program {
    return this.rig.ralph(args, { env: this.env });
  }
}

export function json(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** What Claude Code prints when it says something. */
export function says(text: string, id = 'm1', usage: object = {}): string {
  const content = [{ type: 'text', text }];
  return json({ type: 'assistant', message: { id, model: 'claude-opus-4-5', content, usage } });
}

/** And when it has finished. */
export function succeeds(more: object = {}): string {
  const result = { type: 'result', subtype: 'success', is_error: false, result: CLAIM, total_cost_usd: 0.5 };
  return json({ ...result, ...more });
}

export const CLAIM = '<promise>DONE</promise>';

export async function finishes(turn: Turn): Promise<void> {
  await turn.prints(says(CLAIM) + succeeds());
  await turn.exits(0);
}
