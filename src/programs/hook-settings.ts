/** The hooks of Ralph in the settings of Claude Code and of Codex, which have the same shape. */
import { parseTree, type Node } from 'jsonc-parser';
import { isDeepStrictEqual } from 'node:util';
import { syntaxErrorIn, tooDeepIn } from '../files/json-text.ts';
import { UserError } from '../user-error.ts';
import { appended, removed, replaced } from './edit-json.ts';

/** For each event the groups of handlers that run then. */
export type Hooks = Readonly<Record<string, readonly HookGroup[]>>;

export interface HookGroup {
  readonly matcher?: string;
  readonly hooks: readonly HookHandler[];
}

export interface HookHandler {
  readonly type: string;
  readonly command: string;
  readonly args?: readonly string[];
}

/** The settings with these hooks of Ralph and no others of Ralph. Throws if they are no valid settings. */
export function withHooks(text: string, hooks: Hooks, path: string): string {
  const { mark, json } = split(text);
  if (json.trim() === '') return `${mark}${JSON.stringify({ hooks }, null, 2)}\n`;
  let edited = withoutStrays(json, hooks, path);
  for (const [event, groups] of Object.entries(hooks)) edited = withEvent(edited, event, groups, path);
  return mark + edited;
}

/** The settings without the hooks of Ralph, and without what is empty then. */
export function withoutHooks(text: string, path: string): string {
  const { mark, json } = split(text);
  return json.trim() === '' ? text : mark + withoutStrays(json, {}, path);
}

/** Whether settings have hooks of Ralph; false also for a text that is no settings. */
export function hasHooks(text: string, path: string): boolean {
  try {
    return withoutHooks(text, path) !== text;
  } catch {
    return false;
  }
}

/** The byte order mark, which some editors write and the host programs accept, and the rest. */
function split(text: string): { readonly mark: string; readonly json: string } {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  return { mark, json: text.slice(mark.length) };
}

/** Removes what is Ralph's, except for groups of its own at events that are wanted. */
function withoutStrays(json: string, wanted: Hooks, path: string): string {
  const stray = eventsIn(json, path)
    .filter(({ groups }) => groups.some((group) => handlersOf(group).some(isOurs)))
    .flatMap(({ event, groups }) =>
      groups.filter((group) => handlersOf(group).some(isOurs) && !(event in wanted && isOwn(group))),
    )[0];
  if (stray === undefined) return json;
  const handler = isOwn(stray) ? undefined : handlersOf(stray).find(isOurs);
  return withoutStrays(removed(json, handler ?? emptiedWith(stray)), wanted, path);
}

/** Gives an event these groups; those that are there already keep their place, because Codex trusts hooks by it. */
function withEvent(json: string, event: string, groups: readonly HookGroup[], path: string): string {
  const ownIn = (text: string): readonly Node[] =>
    (eventsIn(text, path).find((one) => one.event === event)?.groups ?? []).filter(isOwn);
  let edited = json;
  for (const [index, group] of groups.entries()) {
    const own = ownIn(edited)[index];
    if (own === undefined) edited = withGroup(edited, event, group, path);
    else if (!isDeepStrictEqual(JSON.parse(textOf(edited, own)), group))
      edited = replaced(edited, own, group);
  }
  for (const surplus of ownIn(edited).slice(groups.length).toReversed()) edited = removed(edited, surplus);
  return edited;
}

function textOf(json: string, { offset, length }: Node): string {
  return json.slice(offset, offset + length);
}

function withGroup(json: string, event: string, group: HookGroup, path: string): string {
  const root = rootOf(json, path);
  const hooks = valueOf(root, 'hooks');
  if (hooks === undefined) return appended(json, root, { [event]: [group] }, 'hooks');
  const groups = valueOf(hooks, event);
  return groups === undefined ? appended(json, hooks, [group], event) : appended(json, groups, group);
}

interface Event {
  readonly event: string;
  readonly groups: readonly Node[];
}

function eventsIn(json: string, path: string): readonly Event[] {
  const hooks = valueOf(rootOf(json, path), 'hooks');
  if (hooks === undefined) return [];
  if (hooks.type !== 'object') throw new UserError(`${path}: "hooks" must be an object; nothing was changed`);
  return (hooks.children ?? []).map(({ children: [key, groups] = [] }) => {
    const event = String(key?.value);
    if (groups?.type !== 'array')
      throw new UserError(`${path}: "hooks.${event}" must be an array; nothing was changed`);
    return { event, groups: groups.children ?? [] };
  });
}

function rootOf(json: string, path: string): Node {
  const problem = tooDeepIn(json) ?? syntaxErrorIn(json);
  if (problem !== null)
    throw new UserError(
      `${path}:${problem.line}:${problem.column}: invalid JSON: ${problem.message}; nothing was changed`,
    );
  const root = parseTree(json);
  if (root?.type !== 'object')
    throw new UserError(`${path}: must contain a JSON object; nothing was changed`);
  return root;
}

/** The value of a key. Of a key that is there twice the last one counts, as in `JSON.parse`. */
function valueOf(object: Node, key: string): Node | undefined {
  return object.children?.findLast(({ children }) => children?.[0]?.value === key)?.children?.[1];
}

function handlersOf(group: Node): readonly Node[] {
  return (group.type === 'object' ? valueOf(group, 'hooks')?.children : undefined) ?? [];
}

/** Whether a group has handlers of Ralph and no others. */
function isOwn(group: Node): boolean {
  const handlers = handlersOf(group);
  return handlers.length > 0 && handlers.every(isOurs);
}

function isOurs(handler: Node): boolean {
  const command: unknown = handler.type === 'object' ? valueOf(handler, 'command')?.value : undefined;
  return typeof command === 'string' && OURS.test(command);
}

/** The scripts that host programs start, in quotes or not, wherever Ralph is installed: they mark the hooks that are Ralph's. */
const OURS = /\/plugins\/(?:claude-code|codex)\/hooks\/(?:ralph-hook|codex-prompt)\.sh(?=$|['"\s])/;

/** The group, or what would be empty without it: its event, or all hooks. */
function emptiedWith(group: Node): Node {
  const event = isAlone(group) ? (group.parent?.parent ?? group) : group;
  return event !== group && isAlone(event) ? (event.parent?.parent ?? event) : event;
}

function isAlone(node: Node): boolean {
  return node.parent?.children?.length === 1;
}
