import { checkSpendLimits } from '../owner/money.ts';
import type { LoopReading } from '../store/read-loop.ts';
import type { Control } from '../loop/event.ts';
import { UserError } from '../user-error.ts';
import { findLoop, sendTo } from './loops.ts';
import { workspaceOf } from './workspace.ts';
import { parseAmount, parseDuration, parseSize, parseWhole } from '../config/values.ts';
import { warn } from './print.ts';

interface Where {
  readonly cwd?: string;
}

/** `ralph pause`: the running agent goes on, and nothing is started after it. */
export async function pause(name: string, options: Where): Promise<number> {
  const loop = findLoop(workspaceOf(options), name);
  refuseEnded(loop);
  if (loop.state.control.paused) {
    warn(`ralph: warning: worker '${name}' is already paused\n`);
    return 0;
  }
  return sendTo(loop, { type: 'pause' }, `paused ralph loop for ${name}`);
}

/** `ralph stop`: after the running step, or with `--now` in the middle of it. */
export async function stop(name: string, options: Where & { readonly now?: boolean }): Promise<number> {
  const loop = findLoop(workspaceOf(options), name);
  if (loop.state.outcome !== null) {
    warn(`ralph: warning: '${name}' has ended already\n`);
    return 0;
  }
  if (loop.trouble !== null) throw new UserError(loop.trouble);
  const now = options.now === true;
  if (loop.owner === null) {
    const { stopOrphan } = await import('./stop-orphan.ts');
    return stopOrphan(loop, now);
  }
  return sendTo(
    loop,
    { type: 'stop', now, by: 'person' },
    now ? `stopping ${name} now` : `stopping ${name} after the running step`,
  );
}

/** `ralph tell`: words for the agent's next prompt. */
export async function tell(name: string, text: string, options: Where): Promise<number> {
  if (text.trim() === '') throw new UserError('there is nothing to tell');
  const loop = findLoop(workspaceOf(options), name);
  if (loop.state.outcome?.type === 'done') throw new UserError(`"${name}" is done: nobody would hear it`);
  return sendTo(loop, { type: 'tell', text }, `delivered to ${name}: it is used in the next prompt`);
}

/** `ralph set`: other limits from here on. */
export async function set(name: string, settings: readonly string[], options: Where): Promise<number> {
  const limits: SetLimits = Object.fromEntries(
    settings.flatMap((text) => Object.entries(parseSetting(text))),
  );
  const loop = findLoop(workspaceOf(options), name);
  refuseEnded(loop);
  await checkSpendLimits(limits, loop.spec.agent);
  return sendTo(loop, { type: 'set', limits }, `set for ${name}: ${settings.join(' ')}`);
}

type SetLimits = Extract<Control, { type: 'set' }>['limits'];

const SETTINGS: Readonly<Record<string, (key: string, value: string) => SetLimits>> = {
  'max-iterations': (key, value) => ({ iterations: parseWhole(key, value, 1) }),
  'max-time': (key, value) => ({ timeMs: parseDuration(key, value) }),
  'max-failures': (key, value) => ({ failures: parseWhole(key, value, 1) }),
  'max-output': (key, value) => ({ outputBytes: parseSize(key, value) }),
  'max-tokens': (key, value) => ({ tokens: parseWhole(key, value, 1) }),
  'max-cost': (key, value) => ({ costUsd: parseAmount(key, value) }),
};

function parseSetting(text: string): SetLimits {
  const at = text.indexOf('=');
  const key = at < 0 ? text : text.slice(0, at);
  const parse = SETTINGS[key];
  if (at < 0 || parse === undefined) {
    throw new UserError(
      `expected KEY=VALUE with KEY one of ${Object.keys(SETTINGS).join(', ')}, got ${JSON.stringify(text)}`,
    );
  }
  return parse(key, text.slice(at + 1));
}

function refuseEnded({ spec: { name }, state: { outcome } }: LoopReading): void {
  if (outcome === null) return;
  throw new UserError(
    outcome.type === 'done'
      ? `"${name}" is done; start it again with: ralph run --name ${name} …`
      : `"${name}" has ended; go on with it: ralph resume ${name}`,
  );
}
