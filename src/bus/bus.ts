/**
 * A message bus: a file that several processes append messages to and read (`records.ts` has the format).
 *
 * 1. A message is appended whole, under the kernel's lock on the file, which any program can take (`flock`). Where there is no
 *    `flock` program, one `write` in append mode has to do.
 * 2. Readers take no lock. A record that is not whole is not there for them, and the next append does not run into it.
 * 3. Neither the file nor a folder on the way to it may be a link, and only a regular file is opened (`files/below.ts`).
 * 4. Only the end of a long file is read, so memory is bounded whatever others append.
 * 5. The bytes of a body are data: nothing in them is interpreted. Who shows one makes it safe for a terminal.
 */
import { closeSync, fstatSync, ftruncateSync, lstatSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { below } from '../files/below.ts';
import { codeOf, isTaken, openRegular, readAll, UnusableFile } from '../files/files.ts';
import { flockWithin } from '../process/flock.ts';
import { watchFolder } from '../process/watch.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { MAX_HEADER_BYTES, pathOf, type BusFile } from './bus-file.ts';
import { headerOf, isId, type Draft, type Message } from './message.ts';
import { isAfter, nextId } from './message-id.ts';
import { readRecords, recordOf, separatorAfter } from './records.ts';

export { busAt, nearestBus, pathOf, type BusFile } from './bus-file.ts';
export { draft, type Draft, type Message } from './message.ts';

/** The longest body that a message can have. */
export const MAX_BODY_BYTES: number = 256 * 1024;

/** Appends a message and returns its id. Waits up to 10 s for the lock. */
export async function post(bus: BusFile, draft: Draft, lockMs: number = LOCK_MS): Promise<string> {
  refuseInvalid(draft);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    // oxlint-disable-next-line no-await-in-loop -- backoff
    if (attempt > 0) await sleep(BACKOFF_MS * 2 ** (attempt - 1));
    // oxlint-disable-next-line no-await-in-loop -- again only if the file was replaced meanwhile
    const id = await append(bus, draft, lockMs);
    if (id !== null) return id;
  }
  throw new UserError(`cannot write ${pathOf(bus)}: another process keeps replacing it`, 1);
}

const LOCK_MS = 10_000;
const MAX_ATTEMPTS = 3;
const BACKOFF_MS = 100;

function refuseInvalid(draft: Draft): void {
  const { type, projectId, parents, body } = draft;
  if (type.trim() === '') throw new UserError('a message needs a type, such as INFO');
  if (projectId === '') throw new UserError('a message needs a project id');
  const wrong = parents.find(({ id }) => !isId(id));
  if (wrong !== undefined)
    throw new UserError(`invalid id of a message: ${JSON.stringify(wrong.id.slice(0, 200))}`);
  const bytes = Buffer.byteLength(body);
  if (bytes > MAX_BODY_BYTES)
    throw new UserError(
      `the message is too long: ${bytes} bytes (maximum ${MAX_BODY_BYTES}); put the text into a file and post its path`,
    );
  const headerBytes = Buffer.byteLength(headerOf({ ...draft, id: '', ts: '' }, bytes));
  if (headerBytes > MAX_HEADER_BYTES - ID_BYTES)
    throw new UserError(
      `the type, ids, parents, links and meta of the message are too long: ${headerBytes} bytes (maximum ${MAX_HEADER_BYTES - ID_BYTES})`,
    );
}

/** Room for what a message gets when it is appended. */
const ID_BYTES = 1024;

/** Null if the file was replaced while this process waited for its lock. */
async function append(bus: BusFile, draft: Draft, lockMs: number): Promise<string | null> {
  const descriptor = open(bus, 'append');
  try {
    if ((await flockWithin(descriptor, lockMs)) === false)
      throw new UserError(
        `cannot post to ${pathOf(bus)}: another process has held its lock for ${lockMs / 1000} s; find it with: fuser -v ${pathOf(bus)}`,
        1,
      );
    if (!isStillAt(bus, descriptor)) return null;
    const end = endOf(descriptor, END_BYTES);
    const { id, ts } = nextId(readRecords(end.content, end.from).at(-1)?.id ?? null);
    const issue = draft.type === 'ISSUE' ? { issueId: draft.issueId ?? id } : {};
    const record = recordOf({ ...draft, ...issue, id, ts });
    write(descriptor, Buffer.concat([Buffer.from(separatorAfter(end.content)), record]));
    return id;
  } catch (error) {
    throw unusable(error, bus);
  } finally {
    closeSync(descriptor);
  }
}

/** Enough to find the last id. */
const END_BYTES = 64 * 1024;

/** All bytes or, as far as no other program has written meanwhile, none. */
function write(descriptor: number, bytes: Buffer): void {
  const { size } = fstatSync(descriptor);
  let at = 0;
  try {
    while (at < bytes.length) at += writeSync(descriptor, bytes, at);
  } catch (error) {
    if (fstatSync(descriptor).size === size + at) ftruncateSync(descriptor, size);
    throw error;
  }
}

/** Whether the open file is the one at the path: a workspace folder may be removed and made again. */
function isStillAt({ root, parts, name }: BusFile, descriptor: number): boolean {
  const { ino, dev } = fstatSync(descriptor);
  try {
    const now = below(root, parts, { make: false }, (folder) => lstatSync(join(folder, name)));
    return now.ino === ino && now.dev === dev;
  } catch {
    return false;
  }
}

/** The message with the id that was given is not on the bus. */
export class UnknownMessage extends UserError {}

export interface ReadOptions {
  /** Only messages after the one with this id; throws `UnknownMessage` if there is none. */
  readonly since?: string | undefined;
  /** At most this many, the last ones. */
  readonly tail?: number | undefined;
  /** How much of the end of the file is read at most. */
  readonly maxBytes?: number | undefined;
}

/** The messages of a bus, oldest first; none if there is no file. */
export function readMessages(bus: BusFile, options: ReadOptions = {}): readonly Message[] {
  const { since, tail, maxBytes = MAX_READ_BYTES } = options;
  const isEnough = (messages: readonly Message[]): boolean =>
    since === undefined
      ? tail !== undefined && messages.length > tail
      : messages.some(({ id }) => id === since);
  const messages = readEnd(bus, maxBytes, isEnough);
  const at = since === undefined ? -1 : messages.findLastIndex(({ id }) => id === since);
  if (since !== undefined && at < 0)
    throw new UnknownMessage(`no message ${since} on ${pathOf(bus)}; list the messages with: ralph bus read`);
  const found = messages.slice(at + 1);
  return tail === undefined ? found : found.slice(Math.max(0, found.length - tail));
}

/**
 * The messages after the one with this id, all for null. If that message is gone, because the file was removed or is longer
 * than Ralph reads, those with a later id: ids sort by time. An id of another kind or from the future says nothing about time,
 * and then a message counts as a later one: better twice than never.
 */
export function messagesAfter(
  bus: BusFile,
  id: string | null,
  maxBytes: number = MAX_READ_BYTES,
): readonly Message[] {
  if (id === null) return readEnd(bus, maxBytes, () => false);
  const messages = readEnd(bus, maxBytes, (found) => found.some((message) => message.id === id));
  const at = messages.findLastIndex((message) => message.id === id);
  return at < 0 ? messages.filter((message) => isAfter(message.id, id)) : messages.slice(at + 1);
}

/**
 * Calls back with every message after `id`, at once and as they are appended, until the returned function is called. Throws if
 * the bus cannot be used; one that cannot be used later is looked at again after each change.
 */
export function watchMessages(
  bus: BusFile,
  id: string | null,
  onMessages: (messages: readonly Message[]) => void,
): () => void {
  let last = id;
  const look = (): void => {
    const messages = messagesAfter(bus, last);
    last = messages.at(-1)?.id ?? last;
    if (messages.length > 0) onMessages(messages);
  };
  look();
  return watchFolder(dirname(pathOf(bus)), () => {
    try {
      look();
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
    }
  });
}

const MAX_READ_BYTES = 8 * 1024 * 1024;

/** Reads more and more of the end of a file, until it is enough or the most that may be read. */
function readEnd(
  bus: BusFile,
  maxBytes: number,
  isEnough: (messages: readonly Message[]) => boolean,
): readonly Message[] {
  const descriptor = openIfThere(bus);
  if (descriptor === null) return [];
  try {
    for (let bytes = Math.min(END_BYTES, maxBytes); ; bytes = Math.min(bytes * 8, maxBytes)) {
      const { content, from } = endOf(descriptor, bytes);
      const messages = readRecords(content, from);
      if (from === 0 || bytes === maxBytes || isEnough(messages)) return messages;
    }
  } catch (error) {
    throw unusable(error, bus);
  } finally {
    closeSync(descriptor);
  }
}

/** The end of a file, and where it begins. */
function endOf(descriptor: number, maxBytes: number): { readonly content: Buffer; readonly from: number } {
  const { size } = fstatSync(descriptor);
  const from = Math.max(0, size - maxBytes);
  return { content: readAll(descriptor, size - from, from), from };
}

function openIfThere(bus: BusFile): number | null {
  try {
    // Most loops have none, and this is much cheaper than catching what `open` throws.
    if (!isTaken(pathOf(bus))) return null;
    return open(bus, 'read');
  } catch (error) {
    if (error instanceof UserError && codeOf(error.cause) === 'ENOENT') return null;
    throw error;
  }
}

/** Readable for the other users of the workspace, as far as the umask allows. */
function open(bus: BusFile, way: 'append' | 'read'): number {
  const { root, parts, name } = bus;
  try {
    return below(root, parts, { make: way === 'append' }, (folder) =>
      openRegular(join(folder, name), way, 0o666),
    );
  } catch (error) {
    throw unusable(error, bus);
  }
}

/** The error with the name of the bus; one that has it already as it is. */
function unusable(error: unknown, bus: BusFile): unknown {
  if (error instanceof UserError) return error;
  const hint = error instanceof UnusableFile ? '; remove it or move it away' : '';
  return new UserError(`cannot use the message bus ${pathOf(bus)}: ${reasonOf(error)}${hint}`, 1, {
    cause: error,
  });
}
