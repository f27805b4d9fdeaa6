import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What the server does with one request: answers with a code, or breaks. */
export type Answer = number | 'hangs' | 'closes' | 'answers twice' | 'redirects';

export interface Post {
  readonly path: string;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
  /** The id of the notice in it. */
  readonly id: string;
}

/** A server on this machine that notices are sent to. */
export class HookServer {
  readonly posts: Post[] = [];
  /** For the next requests, one after the other; then 200. */
  readonly answers: Answer[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | null = null;
  #port = 0;

  /** Listens, after `stops` at the same port again. */
  async starts(): Promise<void> {
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => {
        body += piece.toString();
      });
      request.on('end', () => {
        const answer = this.answers.shift() ?? 200;
        const id = /"id":"([^"]*)"/.exec(body)?.[1] ?? '';
        this.posts.push({ path: request.url ?? '', headers: request.headers, body, id });
        if (answer === 'closes') request.socket.destroy();
        else if (answer === 'answers twice') request.socket.end(`${OK}${OK}`);
        else if (answer === 'redirects') response.writeHead(302, { location: `${this.url}elsewhere` }).end();
        else if (answer !== 'hangs') response.writeHead(answer).end('the answer');
      });
    });
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket)).on('error', () => {});
    });
    this.#server = server;
    await new Promise<void>((resolve) => {
      server.listen(this.#port, '127.0.0.1', resolve);
    });
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    this.#port = (server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`;
  }

  get ids(): readonly string[] {
    return this.posts.map(({ id }) => id);
  }

  async stops(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  }
}

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';
