import { isRecord, record } from '../../agents/json.ts';
import type { RalphLog } from '../../session/log.ts';
import { hookMessages, promptSettings, subagentCalls, usageBetween, type SpentUsage } from './messages.ts';
import type { HookMessage, Toast } from '../../session/hook/types.ts';

/** What opencode gives to a plugin, once per folder. */
export interface OpencodeInput {
  readonly client: OpencodeClient;
  readonly directory: string;
}

/** What a plugin uses of opencode's client. A call resolves even if it failed: with `error` instead of `data`. */
export interface OpencodeClient {
  readonly session: {
    messages(options: { path: { id: string } }): Promise<Reply>;
    get(options: { path: { id: string } }): Promise<Reply>;
    status(): Promise<Reply>;
    prompt(options: { path: { id: string }; body: object }): Promise<Reply>;
    promptAsync(options: { path: { id: string }; body: object }): Promise<Reply>;
  };
  readonly tui: { showToast(options: { body: Toast }): Promise<unknown> };
  readonly app: { log(options: { body: object }): Promise<unknown> };
}

interface Reply {
  readonly data?: unknown;
  readonly error?: unknown;
  readonly response?: { readonly status: number };
}

/** The sessions of opencode, as the hook asks for them. */
export class OpencodeSessions {
  readonly #client: OpencodeClient;
  /** Notes for sessions that are in a turn. */
  readonly #waiting = new Map<string, readonly string[]>();
  /** Notes appear in their order. */
  #lastNote: Promise<void> = Promise.resolve();
  /** What subagents have used, by the id of the call; it does not change once the call has ended. */
  readonly #spent = new Map<string, SpentUsage>();

  constructor(client: OpencodeClient) {
    this.#client = client;
  }

  async messages(id: string): Promise<readonly HookMessage[]> {
    const messages = await this.#messages(id);
    const calls = subagentCalls(messages).filter((call) => !this.#spent.has(call.id));
    await Promise.all(
      calls.map(async (call) => {
        // A subagent that was deleted has no usage any more.
        const { data } = await this.#client.session.messages({ path: { id: call.session } });
        this.#spent.set(call.id, usageBetween(data, call));
      }),
    );
    return hookMessages(messages, (call) => this.#spent.get(call.id) ?? null);
  }

  /** Gives the session a prompt, with the agent and the model of the one before. */
  async prompt(id: string, text: string): Promise<void> {
    const settings = promptSettings(await this.#messages(id));
    const body = { ...settings, parts: [{ type: 'text', text }] };
    dataOf(await this.#client.session.promptAsync({ path: { id }, body }));
  }

  /** Shows a text to the person only, or after the turn of the session. */
  async keepNote(id: string, text: string): Promise<void> {
    const before = this.#lastNote;
    const shown = (async () => {
      await before.catch(() => {});
      if (!(await this.note(id, text))) this.noteLater(id, text);
    })();
    this.#lastNote = shown;
    await shown;
  }

  /** Shows a text to the person only, after the next turn of the session. */
  noteLater(id: string, text: string): void {
    this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), text]);
  }

  /** Shows the notes that have waited for the end of a turn. */
  async showWaiting(id: string): Promise<void> {
    const texts = this.#waiting.get(id) ?? [];
    this.#waiting.delete(id);
    // oxlint-disable-next-line no-await-in-loop -- in their order
    for (const text of texts) await this.keepNote(id, text);
  }

  /** Shows a text to the person only. Not in a turn, and false then: a new message there makes the agent answer it. */
  async note(id: string, text: string): Promise<boolean> {
    const { data } = await this.#client.session.status();
    if (isRecord(record(data)[id])) return false;
    const settings = promptSettings(await this.#messages(id));
    const body = { ...settings, noReply: true, parts: [{ type: 'text', text, ignored: true }] };
    dataOf(await this.#client.session.prompt({ path: { id }, body }));
    return true;
  }

  async exists(id: string): Promise<boolean> {
    const reply = await this.#client.session.get({ path: { id } });
    if (reply.response?.status === 404) return false;
    dataOf(reply);
    return true;
  }

  async #messages(id: string): Promise<unknown> {
    return dataOf(await this.#client.session.messages({ path: { id } }));
  }
}

function dataOf({ data, error, response }: Reply): unknown {
  if (error === undefined) return data;
  const { message } = record(record(error)['data']);
  throw new Error(
    typeof message === 'string' ? message : `opencode answered with status ${response?.status}`,
  );
}

/** Writes to opencode's log: its terminal shows the session. */
export function opencodeLog(client: OpencodeClient): RalphLog {
  const write =
    (level: 'info' | 'warn' | 'error'): RalphLog['info'] =>
    (message, details) => {
      // The log may be gone when opencode ends.
      client.app.log({ body: { service: 'ralph', level, message, extra: details } }).catch(() => {});
    };
  return { info: write('info'), warn: write('warn'), error: write('error') };
}
