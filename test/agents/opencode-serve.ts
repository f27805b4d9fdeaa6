import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { at, items } from './json.ts';
import { REAL_AGENTS } from './real-agent.ts';
import type { Turn } from './script.ts';
import { endedWith } from './whole-loop.ts';

const AGENT = REAL_AGENTS.opencode;
export const LONG = { timeout: 60_000, interval: 100 };

/** The real `opencode serve` with our plugin, in a repository of its own and with a scripted model. */
export async function serveOpencode(script: readonly Turn[]): Promise<OpencodeServer> {
  const bin = await install(AGENT.package);
  const arena = await openArena(AGENT, bin, script);
  const server = new OpencodeServer(arena, `${bin}/opencode`);
  onTestFinished(() => server.kill('SIGTERM'));
  const { workspace, env } = arena.stage;
  for (const folder of [join(workspace, '.opencode'), join(env['HOME'] ?? '', '.config', 'opencode')])
    pretendInstalled(folder);
  endedWith(0, await arena.stage.ralph('hook', 'install', 'opencode', '--project').ended);
  await server.start();
  return server;
}

/**
 * opencode fetches a package into every folder with plugins, for plugins that import it, and waits for that. It does not if the
 * package is in the lock file.
 */
function pretendInstalled(folder: string): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  const packages = { '': { dependencies: { '@opencode-ai/plugin': AGENT.package.version } } };
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ lockfileVersion: 3, packages }));
}

export class OpencodeServer {
  readonly arena: Arena;
  readonly program: string;
  readonly toasts: string[] = [];
  /** The sessions of all idle events. */
  readonly idle: string[] = [];
  #child: ChildProcess | null = null;
  #url = '';
  #log = '';

  constructor(arena: Arena, program: string) {
    this.arena = arena;
    this.program = program;
  }

  async start(): Promise<void> {
    const port = await freePort();
    const args = ['serve', '--hostname', '127.0.0.1', '--port', String(port), '--print-logs'];
    const { workspace: cwd, env } = this.arena.stage;
    const child = spawn(this.program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#url = `http://127.0.0.1:${port}`;
    let printed = '';
    child.stdout.on('data', (piece: Buffer) => (printed += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (this.#log = (this.#log + piece.toString()).slice(-20_000)));
    await vi.waitFor(() => {
      if (!printed.includes(`listening on ${this.#url}`)) throw new Error(`not started:\n${this.#log}`);
    }, LONG);
    void this.#follow();
  }

  async kill(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  async createSession(): Promise<string> {
    return String(at(await this.#post('/session', {}), 'id'));
  }

  /** A command of the person. It is not waited for: opencode answers when the turn has ended. */
  command(session: string, command: string, written: string = ''): void {
    const body = { command, arguments: written, model: AGENT.model };
    // A command that asks the model nothing, and a server that is killed, answer with an error.
    this.#post(`/session/${session}/command`, body).catch(() => {});
  }

  /** A prompt of the person; resolves when its turn has ended. */
  async prompt(session: string, text: string): Promise<void> {
    const [providerID, modelID] = AGENT.model.split('/');
    const body = { model: { providerID, modelID }, parts: [{ type: 'text', text }] };
    await this.#post(`/session/${session}/message`, body);
  }

  async abort(session: string): Promise<void> {
    await this.#post(`/session/${session}/abort`, {});
  }

  /** The texts of what the session was given and what it said. */
  async texts(session: string, role: 'user' | 'assistant'): Promise<readonly string[]> {
    const messages = await this.#ask('GET', `/session/${session}/message`);
    return items(messages)
      .filter((message) => at(message, 'info', 'role') === role)
      .map((message) =>
        items(at(message, 'parts'))
          .filter((part) => at(part, 'ignored') !== true)
          .map((part) => at(part, 'text'))
          .filter((text) => typeof text === 'string')
          .join('\n'),
      )
      .filter((text) => text !== '');
  }

  /** What the session shows to the person only. */
  async notes(session: string): Promise<readonly string[]> {
    const messages = await this.#ask('GET', `/session/${session}/message`);
    return items(messages)
      .flatMap((message) => items(at(message, 'parts')))
      .filter((part) => at(part, 'ignored') === true)
      .map((part) => String(at(part, 'text')));
  }

  /** The numbers of the prompts that Ralph gave to the session. */
  async iterations(session: string): Promise<readonly string[]> {
    const given = await this.texts(session, 'user');
    return given.flatMap((text) => /^\[RALPH LOOP - ITERATION (\d+\/\d+)\]/.exec(text)?.[1] ?? []);
  }

  async #post(path: string, body: object): Promise<unknown> {
    return this.#ask('POST', path, body);
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const url = new URL(path, this.#url);
    url.searchParams.set('directory', this.arena.stage.workspace);
    const response = await fetch(url, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}\n${this.#log}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Collects the events of the server until it ends. */
  async #follow(): Promise<void> {
    const url = new URL('/event', this.#url);
    url.searchParams.set('directory', this.arena.stage.workspace);
    let rest = '';
    try {
      const { body } = await fetch(url);
      if (body === null) return;
      for await (const piece of body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + piece).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line.startsWith('data: ')) this.#take(JSON.parse(line.slice(6)));
      }
    } catch {
      // The server has ended.
    }
  }

  #take(event: unknown): void {
    const type = at(event, 'type');
    if (type === 'tui.toast.show') this.toasts.push(String(at(event, 'properties', 'title')));
    if (type === 'session.idle') this.idle.push(String(at(event, 'properties', 'sessionID')));
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a path
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
