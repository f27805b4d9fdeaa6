/**
 * The server of `ralph ui`: the page, the verbs of the hall as JSON, and one stream of what changes.
 *
 * 1. It listens on 127.0.0.1 alone, and answers only its own page (`guard.ts`).
 * 2. It has no model of loops: a request is one of the hall, and what it may do is decided there.
 * 3. Read-only, it carries out no verb that changes something.
 */
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { stream } from 'hono/streaming';
import type { Loops } from '../loops/loops.ts';
import { answer, requestIn, type LoopsAnswer } from '../loops/request.ts';
import { UserError } from '../user-error.ts';
import { HEADERS, refusalOf } from './guard.ts';
import type { PageFile } from './files.ts';
import { liveLines, wantsIn } from './live.ts';

export interface UiOptions {
  readonly loops: Loops;
  /** 0 for any free one. */
  readonly port: number;
  readonly isReadOnly: boolean;
  readonly files: ReadonlyMap<string, PageFile>;
}

export interface UiServer {
  /** The address of the page, with the token in its fragment, which a browser does not send. */
  readonly address: string;
  /** The same for a file that leads here; it works once. */
  readonly handOver: string;
  readonly port: number;
  close(): Promise<void>;
}

export async function serveUi({ loops, port, isReadOnly, files }: UiOptions): Promise<UiServer> {
  const token = randomBytes(32).toString('base64url');
  const handOver = `/open/${randomBytes(16).toString('base64url')}`;
  const own = { origin: '', token, handOver: handOver as string | null };
  const app = new Hono();
  app.use(async (context, next) => {
    const { method, path } = context.req;
    const refusal = refusalOf({ method, path, header: (name) => context.req.header(name) }, own);
    if (refusal === null) await next();
    else context.res = context.text(`403: ${refusal}\n`, 403);
    for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
  });
  app.use(bodyLimit({ maxSize: MOST_BYTES }));
  app.get('*', ({ req, body, text }) => {
    const isHandOver = req.path === own.handOver;
    if (isHandOver) own.handOver = null;
    const file = files.get(isHandOver ? '/' : req.path);
    return file === undefined
      ? text('404: there is no such file\n', 404)
      : body(file.content, 200, { 'content-type': file.type });
  });
  app.post('/api', async ({ req, json }) => {
    const request = requestIn(await jsonOf(req));
    if (request === null || !isOfPage(request.verb))
      return json(refused('this is no request of the page'), 400);
    if (isReadOnly && CHANGES.has(request.verb))
      return json(refused('this page is read-only, since its server was started with --read-only'));
    const bounded = { ...request, wait: Math.min(request.wait ?? 0, MOST_WAIT_MS) };
    return json(await answer(loops, bounded, req.raw.signal));
  });
  app.post('/live', async (context) => {
    const wants = wantsIn(await jsonOf(context.req));
    if (wants === null) return context.json(refused('this is no request of the page'), 400);
    const ending = new AbortController();
    endings.add(ending);
    context.header('content-type', 'application/x-ndjson');
    return stream(context, async (out) => {
      out.onAbort(() => ending.abort());
      try {
        await liveLines(
          loops,
          { wants, isReadOnly },
          async (line) => void (await out.write(`${line}\n`)),
          ending.signal,
        );
      } finally {
        endings.delete(ending);
      }
    });
  });
  const endings = new Set<AbortController>();
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(cannotListen(error, port)));
    server.listen(port, '127.0.0.1', resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- of a server that listens on a port
  const { port: taken } = server.address() as AddressInfo;
  own.origin = `http://127.0.0.1:${taken}`;
  return {
    address: `${own.origin}/#token=${token}`,
    handOver: `${own.origin}${handOver}#token=${token}`,
    port: taken,
    async close() {
      for (const ending of endings) ending.abort();
      const closed = new Promise((resolve) => {
        server.close(resolve);
      });
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}

/** An answer of a person has room in it. */
const MOST_BYTES = 256 * 1024;
const MOST_WAIT_MS = 60_000;

/** The verbs that the page uses, besides those that change something. */
const READS: ReadonlySet<string> = new Set<keyof Loops>([
  'get',
  'runs',
  'events',
  'output',
  'facts',
  'diff',
  'patch',
  'list',
]);
const CHANGES: ReadonlySet<string> = new Set<keyof Loops>(['send', 'resume', 'rewind']);

function isOfPage(verb: string): boolean {
  return READS.has(verb) || CHANGES.has(verb);
}

async function jsonOf(request: { readonly json: () => Promise<unknown> }): Promise<unknown> {
  try {
    return await request.json();
  } catch {
    return null;
  }
}

function refused(message: string): LoopsAnswer {
  return { ok: false, message, exitCode: 2 };
}

function cannotListen(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code === 'EADDRINUSE')
    return new UserError(
      `port ${port} of 127.0.0.1 is in use; choose another with --port, or leave it out for a free one`,
      2,
      { cause: error },
    );
  if (error.code === 'EACCES')
    return new UserError(
      `port ${port} needs the rights of an administrator; choose one above 1023 with --port`,
      2,
      { cause: error },
    );
  return error;
}
