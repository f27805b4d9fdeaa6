/**
 * Where notices go, from `notify` and `on` in the settings and `--notify`.
 *
 * 1. An address and a key come from a variable (`env:NAME`) or from the user's own settings. A file of a workspace, which is shared and
 *    which an agent can write, has none, and neither has a command line, which other users of the machine can read.
 * 2. The settings of a workspace and the options add to what the user's own settings name; `--notify none` turns everything off.
 * 3. A message never has an address or a key in it.
 */
import type { NoticeSecrets } from '../home/notice-secrets.ts';
import { NOTICE_PLACES, NOTICE_SERVICES, type NoticeTarget } from '../home/spec.ts';
import { NOTICE_KINDS, USUAL_KINDS } from '../loop/notice.ts';
import { UserError } from '../user-error.ts';
import type { NotifySettings, Settings } from './settings.ts';
import { parseDuration } from './values.ts';

type NoticeSettings = Pick<Settings, 'notify' | 'on'>;

/** What the settings ask for: targets, what is secret of them, and what keeps a target from being used. */
export interface AskedNotices {
  readonly targets: readonly NoticeTarget[];
  readonly secrets: NoticeSecrets;
  readonly notes: readonly string[];
}

/** `user` are the user's own settings, `merged` those of the workspace with the options, `flags` the options alone. */
export function askedNotices(
  { user, merged, flags }: Readonly<Record<'user' | 'merged' | 'flags', NoticeSettings | null>>,
  env: Readonly<Record<string, string>>,
): AskedNotices {
  const isOff = (settings: NoticeSettings | null): boolean => settings?.notify?.includes(NONE) === true;
  if (isOff(flags)) return { targets: [], secrets: {}, notes: [] };
  const places = named([...placesIn(user, true), ...placesIn(merged, false)]);
  const secrets: Record<string, NoticeSecrets[string]> = {};
  const notes: string[] = [];
  for (const { target, own } of places) {
    if (target.kind !== 'address') continue;
    const { secret, problem } = secretOf(target, own, env);
    if (secret !== null) secrets[target.name] = secret;
    else if (flags?.notify?.includes(`env:${target.variable ?? ''}`) === true)
      throw new UserError(`--notify env:${target.variable ?? ''}: ${problem}`);
    else notes.push(offNote(target.name, problem));
  }
  return { targets: places.map(({ target }) => target), secrets, notes };
}

function placesIn(settings: NoticeSettings | null, isOwn: boolean): readonly Place[] {
  const listed = (settings?.notify ?? []).map((item) => placeOf(item, isOwn));
  const commands = NOTICE_KINDS.flatMap((kind): readonly Place[] => {
    const command = settings?.on?.[kind];
    if (command === undefined) return [];
    return [{ target: { ...commandTarget(command), name: `on ${kind}`, events: [kind] }, own: {} }];
  });
  return [...listed, ...commands];
}

function offNote(name: string, problem: string): string {
  return `no notices to ${name}: ${problem}`;
}

/** The word that turns notices off. */
const NONE = 'none';

/** An address and a key in the user's own settings. */
interface OwnSecret {
  readonly address?: string;
  readonly key?: string;
}

interface Place {
  readonly target: NoticeTarget;
  readonly own: OwnSecret;
}

function placeOf(item: string | NotifySettings, isOwn: boolean): Place {
  const { to, name, key, events, timeout } = typeof item === 'string' ? { to: item } : item;
  const keyVariable = key === undefined ? undefined : variableIn(key);
  const target = targetOf(to, isOwn);
  const isLiteral = target.kind === 'address' && target.variable === undefined;
  if (!isOwn && key !== undefined && keyVariable === undefined) throw new UserError(NO_SECRET);
  return {
    target: {
      ...target,
      ...(name === undefined ? {} : { name }),
      ...(keyVariable === undefined ? {} : { keyVariable }),
      events: events ?? USUAL_KINDS,
      ...(timeout === undefined
        ? {}
        : { timeoutMs: Math.max(1, parseDuration('notify.timeout', String(timeout))) }),
    },
    own: {
      ...(isLiteral ? { address: to } : {}),
      ...(key === undefined || keyVariable !== undefined ? {} : { key }),
    },
  };
}

function targetOf(to: string, isOwn: boolean): NoticeTarget {
  const variable = variableIn(to);
  if (variable !== undefined) return { ...ADDRESS, name: variable, variable };
  const place = NOTICE_PLACES.find((one) => one === to);
  if (place !== undefined) return { ...ADDRESS, name: to, kind: place };
  const command = /^command\s+(\S[^]*)$/.exec(to)?.[1];
  if (command !== undefined) return commandTarget(command);
  if (!ANY_ADDRESS.test(to))
    throw new UserError(
      `notify must be env:NAME, ${NOTICE_PLACES.join(', ')} or "command …" (docs/notices.md)`,
    );
  if (!isOwn) throw new UserError(NO_SECRET);
  return ADDRESS;
}

const ADDRESS: NoticeTarget = { name: 'address', kind: 'address', events: USUAL_KINDS, timeoutMs: 10_000 };

function commandTarget(command: string): NoticeTarget {
  return { name: 'command', kind: 'command', command, events: USUAL_KINDS, timeoutMs: 30_000 };
}

const ANY_ADDRESS = /^\w+(?:\+\w+)?:\/\//;
const NO_SECRET =
  'notify contains an address or a key, which would be seen by others; put it into a variable (env:NAME) or into your own settings (docs/notices.md)';

function variableIn(text: string): string | undefined {
  return /^env:([A-Za-z_]\w*)$/.exec(text)?.[1];
}

/** Gives every place a name of its own. */
function named(places: readonly Place[]): readonly Place[] {
  const names = new Set<string>();
  return places.map(({ target, own }) => {
    let { name } = target;
    for (let number = 2; names.has(name); number++) name = `${target.name}-${number}`;
    names.add(name);
    return { target: { ...target, name }, own };
  });
}

type Found =
  | { readonly secret: NoticeSecrets[string]; readonly problem: null }
  | { readonly secret: null; readonly problem: string };

/** The address and the key of a target. */
function secretOf(
  { variable, keyVariable }: NoticeTarget,
  own: OwnSecret,
  env: Readonly<Record<string, string>>,
): Found {
  const missing = [variable, keyVariable].find((name) => name !== undefined && (env[name] ?? '') === '');
  if (missing !== undefined) return { secret: null, problem: `the variable ${missing} is not set` };
  const address = variable === undefined ? (own.address ?? '') : (env[variable] ?? '').trim();
  const what = variable === undefined ? 'the address' : `$${variable}`;
  if (!isUsable(address))
    return { secret: null, problem: `${what} is not an address that starts with https:// or http://` };
  const key = keyVariable === undefined ? own.key : env[keyVariable]?.trim();
  return { secret: { address, ...(key === undefined ? {} : { key }) }, problem: null };
}

function isUsable(address: string): boolean {
  return USABLE.test(address) && URL.canParse(address);
}

const USABLE = new RegExp(`^(?:(?:${NOTICE_SERVICES.join('|')})\\+)?https?://`);

/** The secrets of targets that a loop has already; `user` are the user's own settings. */
export function secretsAgain(
  targets: readonly NoticeTarget[],
  user: NoticeSettings | null,
  env: Readonly<Record<string, string>>,
): Pick<AskedNotices, 'secrets' | 'notes'> {
  const own = new Map(named(placesIn(user, true)).map((one) => [one.target.name, one.own]));
  const secrets: Record<string, NoticeSecrets[string]> = {};
  const notes: string[] = [];
  for (const target of targets.filter(({ kind }) => kind === 'address')) {
    const { secret, problem } = secretOf(target, own.get(target.name) ?? {}, env);
    if (secret === null) notes.push(offNote(target.name, problem));
    else secrets[target.name] = secret;
  }
  return { secrets, notes };
}

/** The variables that an agent and a check must not see. */
export function noticeVariables(targets: readonly NoticeTarget[]): readonly string[] {
  return targets.flatMap(({ variable, keyVariable }) =>
    [variable, keyVariable].filter((name) => name !== undefined),
  );
}

/** The variables that settings name, whether a loop uses them or `--notify` names other places. */
export function variablesIn({ notify = [] }: NoticeSettings): readonly string[] {
  const texts = notify.flatMap((item) => (typeof item === 'string' ? [item] : [item.to, item.key ?? '']));
  return texts.flatMap((text) => variableIn(text) ?? []);
}

/** Where the settings of a workspace have an address or a key themselves; null if they do not. */
export function secretPlaceIn({ notify = [] }: NoticeSettings): string | null {
  for (const [index, item] of notify.entries()) {
    const { to, key } = typeof item === 'string' ? { to: item, key: undefined } : item;
    const at = typeof item === 'string' ? `notify[${index}]` : `notify[${index}].to`;
    if (ANY_ADDRESS.test(to)) return at;
    if (key !== undefined && variableIn(key) === undefined) return `notify[${index}].key`;
  }
  return null;
}

/** The user's own settings as they can be shown. */
export function withoutAddresses(notify: Settings['notify'] = []): Settings['notify'] {
  return notify.map((item) =>
    typeof item === 'string'
      ? shown(item)
      : {
          ...item,
          to: shown(item.to),
          ...(item.key === undefined || variableIn(item.key) !== undefined ? {} : { key: '<redacted>' }),
        },
  );
}

function shown(text: string): string {
  return ANY_ADDRESS.test(text) ? '<redacted>' : text;
}
