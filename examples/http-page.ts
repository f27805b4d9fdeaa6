/**
 * A page for your own machine that lists loops, shows one with what happened last, and sends it a message or a stop. It needs what can
 * be done with loops (`src/loops/`), the words for it (`src/text/`), and nothing else of Ralph.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import { pagesOf } from '../src/loops/events.ts';
import { localLoops } from '../src/loops/local-loops.ts';
import type { LoopRef } from '../src/loops/loops.ts';
import { inTree, loopTable } from '../src/text/list.ts';
import { sentText } from '../src/text/sent.ts';
import { statusText } from '../src/text/status.ts';
import { storyOf } from '../src/text/story.ts';

/** Serves the page on 127.0.0.1; port 0 is any free one. */
export function servePage(port: number): Server {
  const server = createServer((request, response) => {
    const policy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'";
    void answer(request)
      .catch((error: Error) => page(404, error.message))
      .then(({ status, html }) =>
        response
          .writeHead(status, {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': policy,
          })
          .end(html),
      );
  });
  return server.listen(port, '127.0.0.1');
}

const loops = localLoops();

async function answer(request: IncomingMessage): Promise<Page> {
  const { method, url = '/', headers, socket } = request;
  const origin = `http://127.0.0.1:${socket.localPort}`;
  // Other sites that are open in the browser can send requests here, too.
  const isOwn = `http://${headers.host}` === origin && (method === 'GET' || headers.origin === origin);
  if (!isOwn || Number(headers['content-length'] ?? 0) > 65_536) return page(403, 'not from this page');
  const { pathname, searchParams: query } = new URL(url, origin);
  if (pathname === '/') return list();
  const loop = await loops.find(query.get('name') ?? '', query.get('workspace') ?? '/');
  if (method === 'GET') return show(loop, '');
  const text = new URLSearchParams(await bodyOf(request)).get('tell');
  const sent = await loops.send(
    loop,
    text === null ? { type: 'stop', now: false, by: 'person' } : { type: 'tell', text },
  );
  return show(loop, sentText(loop, sent, 'sent')?.text ?? 'stopped');
}

async function list(): Promise<Page> {
  const rows = inTree(await loops.list({ workspace: null }));
  const [head = [], ...lines] = loopTable(rows, { width: Infinity, now: Date.now() });
  const link = (text: string, at: number): string => {
    const { name = '', workspace = '' } = rows[at]?.row ?? {};
    return `<a href="/loop?${escape(String(new URLSearchParams({ name, workspace })))}">${escape(text)}</a>`;
  };
  const table = lines.map(
    ([first = '', ...others], at) => `<tr><td>${link(first, at)}<td>${others.map(escape).join('<td>')}`,
  );
  return page(200, 'Loops', `<table><tr><td>${head.map(escape).join('<td>')}${table.join('')}</table>`);
}

async function show(loop: LoopRef, note: string): Promise<Page> {
  const view = await loops.get(loop);
  const about = { spec: view.spec, isVerbose: false, endRecord: () => view.summary.record };
  const entries: string[] = [];
  if (about.spec !== null)
    for await (const { at, text } of storyOf(pagesOf(loops, loop), { ...about, spec: about.spec }, ALL))
      entries.push(`${new Date(at).toISOString()}  ${text}`);
  const forms = `<form method="post"><input name="tell"><button>Tell</button></form>
<form method="post"><button>Stop</button></form>`;
  const texts = [note, statusText(view, { home: undefined, now: Date.now() }), entries.slice(-20).join('\n')];
  return page(200, loop.name, texts.map((text) => `<pre>${escape(text)}</pre>`).join('\n') + forms);
}

const ALL = { from: 0, iteration: null };

interface Page {
  readonly status: number;
  readonly html: string;
}

function page(status: number, title: string, body: string = ''): Page {
  return { status, html: `<!doctype html><title>${escape(title)}</title><h1>${escape(title)}</h1>${body}` };
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
