/** `ralph bus`: posts and reads messages. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { MAX_BODY_BYTES, type Message, nearestBus, pathOf, readMessages, watchMessages } from '../bus/bus.ts';
import { parseDuration, parseWhole } from '../settings/values.ts';
import { UserError } from '../user-error.ts';
import { type FoundBus, type Posted, busIn, busOfRun, postTo } from '../loops/bus.ts';
import { print, printAsIs, printJson } from './print.ts';
import { visible } from '../text/one-line.ts';
import { postedAt } from '../text/times.ts';
import { workspaceOf } from './workspace.ts';

export interface BusOptions {
  readonly cwd?: string;
  /** The bus of all loops of the workspace. */
  readonly project?: boolean;
}

export interface PostOptions extends BusOptions {
  readonly loop?: string;
  readonly type?: string;
  readonly body?: string;
  readonly parent?: string;
  readonly default?: string;
  readonly timeout?: string;
}

/** `ralph bus post`: appends a message and prints its id. */
export async function postMessage(words: readonly string[], options: PostOptions): Promise<number> {
  const type = typeOf(options);
  const otherwise = defaultAnswer(type, options);
  const bus = busFor(options.loop ?? null, options);
  const body = bodyFrom(words, options);
  const id = await postTo(bus, { type, body, parent: options.parent, otherwise });
  print(`msg_id: ${id}\n`);
  return 0;
}

function busFor(name: string | null, options: BusOptions): FoundBus {
  const isProject = options.project === true;
  const ofRun = options.cwd === undefined ? busOfRun(name, isProject) : null;
  return ofRun ?? busIn(workspaceOf(options), name, isProject);
}

function typeOf({ type = 'INFO' }: PostOptions): string {
  if (!/^[^\s\p{Cc}]{1,100}$/u.test(type))
    throw new UserError(`--type must be one word such as FACT or QUESTION, got ${JSON.stringify(type)}`);
  return type;
}

/** The default answer of a question, and when it applies. */
function defaultAnswer(type: string, options: PostOptions): Posted['otherwise'] {
  const { default: answer, timeout } = options;
  if (answer === undefined && timeout === undefined) return undefined;
  if (type !== 'QUESTION')
    throw new UserError(`--default and --timeout are for --type QUESTION, got ${JSON.stringify(type)}`);
  if (timeout === undefined) throw new UserError('--default needs --timeout: when does the default apply?');
  if (answer === undefined)
    throw new UserError('--timeout needs --default: which answer applies when the time is over?');
  if (answer.trim() === '') throw new UserError('--default must not be empty');
  return { text: answer, afterMs: parseDuration('--timeout', timeout) };
}

function bodyFrom(words: readonly string[], { body }: PostOptions): string {
  if (body !== undefined && words.length > 0)
    throw new UserError('give the text either with --body or as words, not both');
  const text = body ?? (words.length > 0 ? words.join(' ') : pipedText());
  if (text === null || text.trim() === '')
    throw new UserError('the message is empty: ralph bus post "text", or pipe the text in');
  return text;
}

/** What is piped to this command, without a newline at its end; null if nothing is. */
function pipedText(): string | null {
  const stdin = fstatSync(0);
  if (!stdin.isFIFO() && !stdin.isFile() && !stdin.isSocket()) return null;
  // One byte more than allowed: `post` reports a body that is too long.
  const bytes = Buffer.alloc(MAX_BODY_BYTES + 2);
  const descriptor = stdin.isSocket() ? 0 : openSync('/dev/stdin', 'r');
  let length = 0;
  try {
    while (length < bytes.length) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null);
      if (count === 0) break;
      length += count;
    }
  } finally {
    if (descriptor !== 0) closeSync(descriptor);
  }
  return bytes.subarray(0, length).toString('utf8').replace(/\n$/, '');
}

export interface ReadBusOptions extends BusOptions {
  readonly tail?: string;
  readonly since?: string;
  readonly type?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

/** `ralph bus read`: prints the last messages, and with `--follow` those that come. */
export async function readBus(name: string | null, options: ReadBusOptions): Promise<number> {
  const tail = parseWhole('--tail', options.tail ?? (options.since === undefined ? '20' : '1000000'), 0);
  const chosen = busFor(name, options);
  const { bus } = chosen;
  const isWanted = ({ type }: Message): boolean => options.type === undefined || type === options.type;
  const all = readMessages(bus, {
    since: options.since,
    // All, where those of other types are left out; else at least the one after which new messages come.
    tail: options.type === undefined ? Math.max(tail, 1) : undefined,
  });
  const shown = all.filter(isWanted);
  const show = (messages: readonly Message[]): boolean =>
    messages.filter(isWanted).every((message) => showMessage(message, chosen, options));
  const hasReader = show(shown.slice(Math.max(0, shown.length - tail)));
  if (options.follow !== true || !hasReader) return 0;
  const last = all.at(-1)?.id ?? options.since ?? null;
  await new Promise<void>((resolve) => {
    const stop = watchMessages(bus, last, (messages) => {
      if (show(messages)) return;
      stop();
      resolve();
    });
  });
  return 0;
}

/** Returns whether there is still a reader. */
function showMessage(message: Message, { hide }: FoundBus, { json }: ReadBusOptions): boolean {
  const shown = hide(message);
  if (json === true) return printJson(shown);
  const [first = '', ...more] = shown.body.trimEnd().split('\n').map(visible);
  const head = `[${postedAt(shown) ?? visible(shown.ts)}] (${visible(shown.type)}) ${first}`;
  // Indented, so that no line of a body looks like a message.
  return printAsIs([head, ...more.map((line) => `  ${line}`), ''].join('\n'));
}

/** `ralph bus discover`: prints the path of the bus that a post from here goes to. */
export function discoverBus(options: BusOptions & { readonly from?: string }): number {
  const bus =
    options.from === undefined ? busFor(null, options).bus : nearestBus(workspaceOf({ cwd: options.from }));
  if (bus === null) throw new UserError(`no message bus in ${options.from} or above it`);
  print(`${pathOf(bus)}\n`);
  return 0;
}
