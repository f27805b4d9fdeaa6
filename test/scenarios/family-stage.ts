/** Scenarios of families: agents that start child loops, and what their journals say about spending. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalEvent, Stage } from './stage.ts';

/** Prints what a run has used so far, and then ends it with the same. */
const USES = `used() { echo '{"type":"progress","costUsd":'$1'}'; }
ends() { echo '{"type":"result","ok":true,"text":"more","costUsd":'$1'}'; exit 0; }`;

/** Writes an agent that does something else in each loop: the shell text by the name of the loop. */
export function agentOf(stage: Stage, loops: Readonly<Record<string, string>>): string {
  const path = join(stage.plan, 'agent');
  const cases = Object.entries(loops).map(([name, script]) => `${name})\n${script}\n;;`);
  const script = `#!/bin/sh\n${USES}\ncase "$RALPH_LOOP" in\n${cases.join('\n')}\nesac\n`;
  writeFileSync(path, script, { mode: 0o755 });
  return path;
}

/** A shell line that starts a child with the agent of its parent; what it prints goes into the plan folder. */
export function starts(stage: Stage, name: string, more = '', agent = 'scripted'): string {
  const command = `${process.execPath} ${stage.main} spawn --name ${name} --no-tmux -m 1000 task --max-unchanged 0`;
  return `${command} --agent ${agent} ${more} -- ${join(stage.plan, 'agent')} >>"$FAKE_PLAN/said" 2>&1`;
}

/** Only in the first run of the loop that starts it. */
export const once = (line: string): string =>
  `if mkdir "$FAKE_PLAN/started-$RALPH_LOOP" 2>/dev/null; then ${line}; fi`;

export function run(stage: Stage, ...args: readonly string[]): ReturnType<Stage['ralph']> {
  const loop = ['run', '--name', 'it', '-p', 'x', '--max-unchanged', '0', '--agent', 'scripted'];
  return stage.ralph(...loop, ...args, '--', join(stage.plan, 'agent'));
}

export function endOf(stage: Stage, name: string): unknown {
  if (!existsSync(stage.files(name).path('journal.jsonl'))) return null;
  return stage.journalOf(name).findLast(({ type }) => type === 'loop.ended')?.['outcome'] ?? null;
}

export function isEnded(stage: Stage, ...names: readonly string[]): Promise<void> {
  return stage.until(`the end of ${names.join()}`, () => names.every((name) => endOf(stage, name) !== null));
}

export const planned = (stage: Stage, name: string): number =>
  stage.journalOf(name).filter(({ type }) => type === 'run.planned').length;

/** What the runs of a loop have reported, from its journal alone. */
export function spentBy(stage: Stage, name: string): number {
  const runs = new Map<unknown, number>();
  for (const event of stage.journalOf(name)) {
    if (event.type === 'run.output') runs.set(event['run'], costOf(event) ?? 0);
  }
  return [...runs.values()].reduce((a, b) => a + b, 0);
}

function costOf({ cost }: JournalEvent): number | null {
  const usd: unknown = typeof cost === 'object' && cost !== null && 'usd' in cost ? cost.usd : null;
  return typeof usd === 'number' ? usd : null;
}
