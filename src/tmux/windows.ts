/**
 * The windows of loops in Ralph's tmux server.
 *
 * 1. A loop has at most one window. The window option `@ralph-loop` identifies it; its name is only for people.
 * 2. A window is created with its option in one step, so none is left without it.
 */
import { together, type TmuxServer } from './server.ts';

/** A window and the pane in it that belongs to Ralph; a person may have split the window. */
export interface Window {
  readonly session: string;
  readonly window: string;
  readonly pane: string;
  /** Whether the program in the pane has exited. */
  readonly isDead: boolean;
  /** Whether a client shows it. */
  readonly isSeen: boolean;
}

export interface WindowSpec {
  /** The id of the loop. */
  readonly loop: string;
  readonly name: string;
}

/** The windows of all loops, each with the id of its loop. */
export async function listWindows(
  server: TmuxServer,
): Promise<readonly (Window & { readonly loop: string })[]> {
  const { session } = server.place;
  const format = [
    'session_name',
    'window_id',
    'pane_id',
    'pane_dead',
    'window_active_clients',
    '@ralph-loop',
    '@ralph-pane',
  ];
  const listed = await server.ask(['list-panes', '-a', '-F', format.map((name) => `#{${name}}`).join('\t')]);
  const panes = (listed ?? '').split('\n').flatMap((line) => {
    const [of = '', window = '', pane = '', dead, clients, loop = '', isOurs] = line.split('\t');
    // The windows of a session are also those of every session that is attached to it.
    if (of !== session || loop === '') return [];
    const known = { session, window, pane, isDead: dead === '1', isSeen: clients !== '0' };
    return [{ ...known, loop, isOurs: isOurs === '1' }];
  });
  const ours = panes.filter(({ isOurs }) => isOurs);
  return [...new Map([...panes, ...ours].map((pane) => [pane.loop, pane])).values()];
}

/** The window of a loop; null if it has none. */
export async function findWindow(server: TmuxServer, loop: string): Promise<Window | null> {
  const windows = await listWindows(server);
  return windows.find((window) => window.loop === loop) ?? null;
}

/** The window of a loop, made if it has none: then the program in it exits at once, and counts as dead even before that. */
export async function ensureWindow(server: TmuxServer, spec: WindowSpec): Promise<Window> {
  return inOrder(`${server.place.socket}\n${spec.loop}`, async () => {
    const found = await findWindow(server, spec.loop);
    if (found !== null) return found;
    await create(server, spec);
    const made = await findWindow(server, spec.loop);
    if (made === null) throw new Error(`tmux has not made a window for ${spec.loop}`);
    return { ...made, isDead: true };
  });
}

/** Closes the window of a loop, if it has one; whatever runs in it is hung up. */
export async function closeWindow(server: TmuxServer, loop: string): Promise<boolean> {
  const found = await findWindow(server, loop);
  if (found === null) return false;
  await server.ask(['kill-window', '-t', found.window]);
  return true;
}

async function create(server: TmuxServer, { loop, name }: WindowSpec): Promise<void> {
  const { session } = server.place;
  // A new window is the last one, which `{end}` names.
  const last = `=${session}:{end}`;
  const program = ['/bin/sh', '-c', 'exit'];
  const marks = [
    ['set-option', '-w', '-t', last, '@ralph-loop', loop],
    ['set-option', '-p', '-t', last, '@ralph-pane', '1'],
  ];
  const addTo = together(['new-window', '-d', '-a', '-t', last, '-n', name, ...program], ...marks);
  const open = together(['new-session', '-d', '-s', session, '-n', name, ...program], ...marks);
  try {
    await ((await hasSession(server)) ? server.ask(addTo) : server.startWith(open));
  } catch (error) {
    // Meanwhile another process has made the session, or the last window of it was closed.
    if (await hasSession(server)) await server.ask(addTo);
    else if (error instanceof Error && /can't find session/.test(error.message)) await server.startWith(open);
    else throw error;
  }
}

async function hasSession(server: TmuxServer): Promise<boolean> {
  const listed = await server.ask(['list-sessions', '-F', '#{session_name}']);
  return (listed ?? '').split('\n').includes(server.place.session);
}

/** One after the other for each key: two calls at once must not make two windows. */
const queues = new Map<string, Promise<unknown>>();

async function inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
  const earlier = queues.get(key) ?? Promise.resolve();
  const mine = earlier.then(work, work);
  queues.set(key, mine);
  try {
    return await mine;
  } finally {
    if (queues.get(key) === mine) queues.delete(key);
  }
}
