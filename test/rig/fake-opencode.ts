import type { OpencodeClient, OpencodeInput } from '../../src/programs/opencode/client.ts';
import { opencodeHooks, type OpencodeHooks } from '../../src/programs/opencode/hooks.ts';
import type { StepDriver } from '../../src/session/hook/step-driver.ts';
import type { Toast } from '../../src/session/hook/types.ts';

/** opencode as a plugin sees it: its client and its events, in the shape that version 1.18 has. It has no model. */
export class FakeOpencode {
  readonly prompts: { readonly session: string; readonly text: string; readonly body: object }[] = [];
  readonly notes: { readonly session: string; readonly text: string }[] = [];
  readonly toasts: Toast[] = [];
  readonly logged: string[] = [];
  /** Called for each toast. */
  onToast: (toast: Toast) => void = () => {};
  readonly #messages = new Map<string, object[]>();
  readonly #busy = new Set<string>();
  readonly #hooks: OpencodeHooks[] = [];
  #ids = 0;

  /** Loads a copy of the plugin. */
  load(directory: string, driver: StepDriver, options = { hasOneTurn: false }): void {
    this.#hooks.push(
      opencodeHooks({ client: this.#client, directory } satisfies OpencodeInput, driver, options),
    );
  }

  /** A command of the person: the parts of its prompt, or the error that ended it. */
  async command(
    session: string,
    command: string,
    written = '',
    attached: object[] = [],
  ): Promise<object[] | Error> {
    const config: { command?: Record<string, { template?: string }> } = {};
    await Promise.all(this.#hooks.map((hooks) => hooks.config(config)));
    const template = config.command?.[command]?.template ?? '';
    // As opencode does it: the arguments are appended, or take the place of the numbers.
    const filled = /\$\d+/.test(template) ? template.replaceAll(/\$\d+/g, '') : `${template}\n\n${written}`;
    const parts = [{ type: 'text', text: filled.trim() }, ...attached];
    try {
      const input = { command, sessionID: session, arguments: written };
      await Promise.all(this.#hooks.map((hooks) => hooks['command.execute.before'](input, { parts })));
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
    this.#say(session, 'user', parts);
    return parts;
  }

  /** The agent answers, and the session goes idle. */
  async answers(session: string, answer: string): Promise<void> {
    this.#say(session, 'assistant', [{ type: 'text', text: answer }]);
    await this.emit('session.idle', { sessionID: session });
  }

  async emit(type: string, properties: object): Promise<void> {
    await Promise.all(this.#hooks.map((hooks) => hooks.event({ event: { type, properties } })));
  }

  /** The session begins a turn. */
  async works(session: string): Promise<void> {
    await this.emit('session.status', { sessionID: session, status: { type: 'busy' } });
  }

  setBusy(session: string, isBusy = true): void {
    if (isBusy) this.#busy.add(session);
    else this.#busy.delete(session);
  }

  delete(session: string): void {
    this.#messages.delete(session);
  }

  #say(session: string, role: string, parts: readonly object[]): void {
    const info = {
      id: `msg_${++this.#ids}`,
      role,
      agent: 'plan',
      ...(role === 'user' ? { model: { providerID: 'ours', modelID: 'scripted' } } : { modelID: 'scripted' }),
      cost: role === 'user' ? undefined : 0.5,
      tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } },
    };
    this.#messages.set(session, [...(this.#messages.get(session) ?? []), { info, parts }]);
  }

  readonly #client: OpencodeClient = {
    session: {
      messages: async ({ path }) => ({ data: this.#messages.get(path.id) ?? [] }),
      get: async ({ path }) =>
        this.#messages.has(path.id)
          ? { data: { id: path.id }, response: { status: 200 } }
          : { error: { name: 'NotFoundError' }, response: { status: 404 } },
      status: async () => ({ data: Object.fromEntries([...this.#busy].map((id) => [id, { type: 'busy' }])) }),
      prompt: async ({ path, body }) => {
        this.notes.push({ session: path.id, text: textOf(body) });
        return { data: {} };
      },
      promptAsync: async ({ path, body }) => {
        this.prompts.push({ session: path.id, text: textOf(body), body });
        this.#say(path.id, 'user', [{ type: 'text', text: textOf(body) }]);
        return {};
      },
    },
    tui: {
      showToast: async ({ body }) => {
        this.toasts.push(body);
        this.onToast(body);
      },
    },
    app: {
      log: async ({ body }) => {
        this.logged.push('message' in body ? String(body.message) : '');
      },
    },
  };
}

function textOf(body: object): string {
  const parts: unknown = 'parts' in body ? body.parts : [];
  const first: unknown = Array.isArray(parts) ? parts[0] : null;
  return typeof first === 'object' && first !== null && 'text' in first ? String(first.text) : '';
}
