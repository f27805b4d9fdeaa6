/** What a loop would start with, as people read it. */
import { counted, durationText } from '../loop/counted.ts';
import type { Preview } from '../loops/preview.ts';
import { columns } from './columns.ts';
import { limitWords } from './limits.ts';

export function dryRunText(found: Preview, width: number): string {
  const { name, agent, model, command, checks, plan, notes, settings, prompt } = found;
  const rows = [
    ['name', name],
    ['works in', placeOf(found)],
    ['agent', model === null ? agent : `${agent}, model ${model}`],
    ['command', command],
    ...named('check', checks.length === 0 ? ['none: the word of the agent is enough'] : checks),
    ...(plan === null ? [] : [['plan', plan]]),
    ['limits', limitsOf(found)],
    ['cost', costOf(found)],
    ...named(
      'settings',
      settings.map(
        ({ key, value, place, origin }) => `${key} = ${JSON.stringify(value)} (${place ?? origin})`,
      ),
    ),
    ...named('note', notes),
  ];
  const table = columns(rows, { width, cut: false }).trimEnd();
  return `dry run: no loop is started\n\n${table}\n\nprompt of the first run:\n\n${prompt.trimEnd()}`;
}

/** One row each, the first one with the name. */
function named(name: string, values: readonly string[]): string[][] {
  return values.map((value, index) => [index === 0 ? name : '', value]);
}

function placeOf({ workspace, worktree, sandbox }: Preview): string {
  const where =
    worktree === null ? workspace : `${worktree.path}, a worktree on the branch ${worktree.branch}`;
  return sandbox ? `${where}, in a sandbox` : where;
}

function limitsOf({ limits: { iterations, timeMs, tokens, failures, unchanged }, runMs }: Preview): string {
  const words = limitWords({
    iterations,
    ...(timeMs === null ? {} : { timeMs }),
    ...(tokens === null ? {} : { tokens }),
    ...(failures === null ? {} : { failures }),
    ...(unchanged === null ? {} : { unchanged }),
  });
  return runMs === null ? words : `${words}, at most ${durationText(runMs)} per run`;
}

/** The most that the limits allow. */
function costOf({ limits: { iterations, timeMs, costUsd }, runMs, isBlind }: Preview): string {
  if (costUsd !== null) return `at most about $${costUsd}`;
  const times = [timeMs, iterations === null || runMs === null ? null : iterations * runMs];
  const longest = Math.min(...times.filter((ms) => ms !== null));
  const runs = iterations === null ? 'any number of iterations' : counted(iterations, 'iteration');
  const time = Number.isFinite(longest) ? ` and ${durationText(longest)}` : '';
  return `not limited: what ${runs}${time} of the agent cost; ${isBlind ? 'the agent does not report it' : 'set a limit with --max-cost'}`;
}
