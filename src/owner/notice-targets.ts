/**
 * Where the notices of a new loop go, and of one that a person takes over.
 *
 * 1. A loop that a run starts notifies as the loop of that run does, and only of what a person has to do: its parent hears of the rest.
 *    What an agent asks for does not count.
 * 2. No agent, check or other program of the loop sees the variables with addresses and keys.
 */
import { keepNotices, keptNotices, type NoticeSecrets } from '../home/notice-secrets.ts';
import { specIn } from '../home/read-loop.ts';
import type { NoticeTarget, ParentRun, Spec } from '../home/spec.ts';
import { isUrgent } from '../loop/notice.ts';
import { askedNotices, noticeVariables, secretsAgain, variablesIn } from '../settings/notify.ts';
import type { SettingsFiles } from '../settings/read.ts';
import type { Settings } from '../settings/settings.ts';
import { readUserSettings } from '../settings/user-settings.ts';
import { UserError } from '../user-error.ts';

type Environment = Readonly<Record<string, string>>;

export interface LoopTargets {
  readonly targets: readonly NoticeTarget[];
  readonly secrets: NoticeSecrets;
}

export interface FoundTargets extends LoopTargets {
  readonly notes: readonly string[];
  /** The environment without the addresses and keys. */
  readonly env: Environment;
}

/** `inside` is the run that asks; `asked` are the settings of the front. */
export function noticeTargets(
  { user, merged: file }: Pick<SettingsFiles, 'user' | 'merged'>,
  { settings, asked }: { readonly settings: Settings; readonly asked: Settings },
  env: Environment,
  inside: ParentRun | null,
): FoundTargets {
  if (inside !== null) {
    if (asked.notify !== undefined)
      throw new UserError(
        'a loop that an agent starts notifies as the loop of that agent does; leave out --notify',
      );
    return { ...inherited(inside), notes: [], env };
  }
  const { targets, secrets, notes } = askedNotices({ user, merged: settings, flags: asked }, env);
  const hidden = [...noticeVariables(targets), ...[user ?? {}, file].flatMap(variablesIn)];
  return { targets, secrets, notes, env: withoutNotices(env, hidden) };
}

function inherited({ folder }: ParentRun): LoopTargets {
  const parent = specIn(folder);
  const targets = (parent?.notices ?? []).flatMap((target): readonly NoticeTarget[] => {
    const events = target.events.filter(isUrgent);
    return events.length === 0 ? [] : [{ ...target, events }];
  });
  return { targets, secrets: parent === null ? {} : keptNotices(parent.id) };
}

/** The environment for the programs of a loop: without these variables. */
export function withoutNotices(env: Environment, variables: readonly string[]): Environment {
  return variables.length === 0
    ? env
    : Object.fromEntries(Object.entries(env).filter(([name]) => !variables.includes(name)));
}

/** Keeps the addresses of a loop that a person takes over, if they are not kept any more; returns what is missing. */
export async function keepNoticesAgain(
  { id, notices = [] }: Spec,
  env: Environment,
): Promise<readonly string[]> {
  const known = keptNotices(id);
  const unknown = notices.filter(({ kind, name }) => kind === 'address' && known[name] === undefined);
  if (unknown.length === 0) return [];
  const { secrets, notes } = secretsAgain(unknown, await readUserSettings(), env);
  keepNotices(id, { ...known, ...secrets });
  return notes;
}
