/**
 * The hooks of opencode's plugin.
 *
 * 1. What is written after `/ralph` is data. opencode runs !`…` in the text of a command, so the templates take no arguments.
 * 2. opencode loads every copy of a plugin, for the user and for the project. In each folder only the last one acts.
 * 3. `/cancel-ralph` and `/ralph-status` ask the model nothing: they throw, which ends a command of opencode without a word.
 * 4. Children of a session and other sessions have no state, so their events continue nothing.
 * 5. Events are not waited for: a step with checks must not delay the abort that comes after it.
 */
import { record, text, type Json } from '../../agents/json.ts';
import { notStartedText } from '../../session/command-text.ts';
import { errorText } from '../../session/log.ts';
import { createRalphCommands } from '../../session/hook/commands.ts';
import { createHookWith, type ContinuingHook } from '../../session/hook/hook.ts';
import { OpencodeSessions, opencodeLog, type OpencodeInput } from './client.ts';
import { hookError } from './messages.ts';
import type { StepDriver } from '../../session/hook/step-driver.ts';
import type { HookContext, Toast } from '../../session/hook/types.ts';

export interface OpencodeHooks {
  config(config: { command?: Record<string, object> }): Promise<void>;
  event(input: { event: { type: string; properties?: unknown } }): Promise<void>;
  'command.execute.before'(
    input: { command: string; sessionID: string; arguments: string },
    output: { parts: object[] },
  ): Promise<void>;
}

/** With `hasOneTurn` opencode ends at the first idle event: a continuation would be lost, so no loop starts or continues. */
export function opencodeHooks(
  { client, directory }: OpencodeInput,
  driver: StepDriver,
  { hasOneTurn }: { readonly hasOneTurn: boolean },
): OpencodeHooks {
  const isCurrent = becomeCurrent(directory);
  const sessions = new OpencodeSessions(client);
  const log = opencodeLog(client);
  const work = new Work();
  const failures = new Set<(message: string) => void>();
  const showToast = (toast: Toast): void => {
    if (toast.variant === 'error') for (const tell of failures) tell(toast.message);
    client.tui.showToast({ body: toast }).catch(() => {});
  };
  const noNote = (error: unknown): void =>
    log.warn('[ralph-loop] Failed to show a note', { error: String(error) });
  const hook = createHookWith(driver, {
    program: 'opencode',
    workdir: directory,
    log,
    showToast,
    showNote(session, shown) {
      sessions.keepNote(session, shown).catch(noNote);
    },
    getMessages: (session) => sessions.messages(session),
    injectPrompt: (session, prompt) => sessions.prompt(session, prompt),
    checkSessionExists: (session) => sessions.exists(session),
  });

  const mention = async (session: string): Promise<void> => {
    const lines = await driver.begin(session, directory);
    if (lines.length === 0) return;
    showToast({ title: 'Ralph Loop', message: lines[0] ?? '', variant: 'info', duration: 10_000 });
    sessions.noteLater(session, lines.join('\n'));
  };

  /** Mentions the loops of other sessions. opencode makes a session for its first prompt, so a note has to wait. */
  const begin = ({ id, parentID }: Json): void => {
    const session = text(id);
    if (session === '' || text(parentID) !== '') return;
    mention(session).catch(noNote);
  };

  /** The text of the first prompt, or why there is no loop. */
  const start = async (session: string, written: string): Promise<{ prompt: string } | { why: string }> => {
    if (hasOneTurn) return { why: ONE_TURN };
    let [prompt, why] = ['', 'the loop was not started'];
    const hear = (message: string): void => {
      why = message;
    };
    failures.add(hear);
    try {
      const injectPrompt = async (_session: string, given: string): Promise<void> => {
        prompt = given;
      };
      const isStarted = await createRalphCommands(hook, { injectPrompt, showToast, log }).ralph(
        session,
        written,
      );
      return isStarted ? { prompt } : { why };
    } finally {
      failures.delete(hear);
    }
  };

  const commands: Readonly<Record<string, (session: string, written: string) => Promise<string>>> = {
    async ralph(session, written) {
      const started = await start(session, written);
      if ('prompt' in started) return started.prompt;
      // oxlint-disable-next-line no-restricted-properties -- all that `opencode run` shows of a plugin
      if (hasOneTurn) process.stderr.write(`ralph: ${started.why}\n`);
      await sessions.note(session, notStartedText(started.why));
      throw new Handled(started.why);
    },
    async 'cancel-ralph'(session) {
      await createRalphCommands(hook, { showToast, log }).cancelRalph(session);
      throw new Handled(DONE);
    },
    async 'ralph-status'(session) {
      const lines = await statusLines(driver, session);
      showToast({ title: 'Ralph Loop', message: lines[0] ?? '', variant: 'info', duration: 5000 });
      await sessions.note(session, lines.join('\n'));
      throw new Handled(DONE);
    },
  };

  return {
    async config(config) {
      config.command = { ...config.command, ...COMMANDS };
    },
    async event({ event: { type, properties } }) {
      if (hasOneTurn || !isCurrent()) return;
      const given = record(properties);
      const context = contextOf(type, given, work.isAborted(type, given, hook));
      if (type === 'session.created') begin(record(given['info']));
      if (type === 'session.idle') sessions.showWaiting(text(given['sessionID'])).catch(noNote);
      if (context !== null)
        hook.handler(context).catch((error: unknown) => log.error('Ralph failed', { error: String(error) }));
      if (type === 'server.instance.disposed' && given['directory'] === directory) hook.dispose();
    },
    async 'command.execute.before'({ command, sessionID, arguments: written }, { parts }) {
      const run = Object.hasOwn(commands, command) ? commands[command] : undefined;
      if (run === undefined || !isCurrent()) return;
      const prompt = await run(sessionID, written);
      // opencode keeps its list; files that the person attached stay in it.
      const files = parts.filter((part) => record(part)['type'] === 'file');
      parts.splice(0, parts.length, { type: 'text', text: prompt }, ...files);
    },
  };
}

/** An event of opencode for the hook; null if it is not one that the hook knows. */
function contextOf(event: string, properties: Json, isAborted: boolean): HookContext | null {
  const sessionId = text(properties['sessionID']);
  if (isAborted) return { event: 'session.error', sessionId, data: { error: { name: 'AbortError' } } };
  switch (event) {
    case 'session.idle':
      return { event, sessionId };
    case 'session.error':
      // Errors of plugins and settings have no session; the hook ignores them.
      return { event, sessionId, data: { error: hookError(properties['error'], Date.now()) } };
    case 'session.deleted':
      return { event, sessionId: text(record(properties['info'])['id']) || sessionId };
    default:
      return null;
  }
}

/** A number that no argument has, because opencode appends the arguments to a template without one. */
const NO_ARGUMENTS = '$9007199254740991';

const COMMANDS: Readonly<Record<string, object>> = {
  ralph: {
    // The menu shows about 55 characters.
    description: 'Loop until a task is done: "task" [--check "command"]',
    template: `Ralph loop ${NO_ARGUMENTS}`,
    subtask: false,
  },
  'cancel-ralph': {
    description: 'End the Ralph loop of this session',
    template: `Cancel the Ralph loop ${NO_ARGUMENTS}`,
    subtask: false,
  },
  'ralph-status': {
    description: 'Show the Ralph loop of this session',
    template: `Status of the Ralph loop ${NO_ARGUMENTS}`,
    subtask: false,
  },
};

const ONE_TURN =
  'opencode run exits after one turn, so no loop can continue in it; use: ralph run --agent opencode "task"';

async function statusLines(driver: StepDriver, session: string): Promise<readonly string[]> {
  try {
    return (await driver.status(session)) ?? ['No Ralph Loop is currently running'];
  } catch (error) {
    return [errorText(error)];
  }
}

const DONE = 'the command is done; nothing is sent to the model';

/** A command of which opencode should do nothing more. */
class Handled extends Error {
  override readonly name = 'RalphHandled';
}

/** Makes this the copy that acts in a folder, until another one is loaded. */
function becomeCurrent(directory: string): () => boolean {
  const found: unknown = Reflect.get(globalThis, COPIES);
  const copies: Map<unknown, unknown> = found instanceof Map ? found : new Map();
  Reflect.set(globalThis, COPIES, copies);
  const self = {};
  copies.set(directory, self);
  return () => copies.get(directory) === self;
}

const COPIES = Symbol.for('ralph-loop.opencode');

/**
 * Which sessions of opencode have worked since they were idle. An abort of a session that is idle already, because its checks
 * run or its next prompt waits, is no error in opencode (1.18): the session is reported as idle once more.
 */
class Work {
  /** Only sessions whose work was seen: other versions may not report it. */
  readonly #hasWorked = new Map<string, boolean>();

  /** Takes an event; whether it means that a person has aborted an idle session. */
  isAborted(event: string, properties: Json, hook: ContinuingHook): boolean {
    const session = text(properties['sessionID']);
    if (event === 'session.status' && record(properties['status'])['type'] !== 'idle')
      this.#hasWorked.set(session, true);
    if (event === 'session.deleted') this.#hasWorked.delete(session);
    if (event !== 'session.idle') return false;
    const hasWorked = this.#hasWorked.get(session);
    if (hasWorked === true) this.#hasWorked.set(session, false);
    return hasWorked === false && hook.isContinuing(session);
  }
}
