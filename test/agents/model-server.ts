/**
 * A scripted model for real agents. It speaks their protocols over plain HTTP on localhost, accepts every key and records
 * every request.
 *
 * 1. Every question takes the next turn of the script; the last turn repeats forever.
 * 2. A question without tools (for the title of a session, for example) is a side question: it takes no turn.
 * 3. A page answers every request, side questions and unknown paths too.
 * 4. Any other request is answered with 404 and recorded too.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { at } from './json.ts';
import { anthropic } from './protocols/anthropic.ts';
import { chat } from './protocols/chat.ts';
import { gemini } from './protocols/gemini.ts';
import type { Call, Failure, Protocol, Reply, StreamEvent, Tool } from './protocols/protocol.ts';
import { responses } from './protocols/responses.ts';
import { says, USAGE, type BreakOff, type Turn, type Usage } from './script.ts';
import { shellCall } from './shell-tool.ts';

const PROTOCOLS: readonly Protocol[] = [anthropic, responses, chat, gemini];

/** Starts a model; `close` also drops open requests. */
export async function startModel(script: readonly Turn[]): Promise<Model> {
  const model = new ScriptedModel(script);
  const server = createServer((request, response) => {
    model
      .handle(request, response)
      .catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port, not on a path
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests: model.requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

export interface Model {
  readonly url: string;
  /** All requests so far. */
  readonly requests: readonly Asked[];
  close(): Promise<void>;
}

export interface Asked {
  readonly path: string;
  /** The requested model. */
  readonly model: string;
  /** The unparsed body. */
  readonly body: string;
  /** The turn of the script that it took. */
  readonly turn: number | 'side question' | 'not found';
  /** The tokens of its answer; null if it had none. */
  readonly used: Usage | null;
}

/** Whether a request contains a text, verbatim and in one piece. */
export function mentions({ body }: Asked, text: string): boolean {
  const parsed: unknown = JSON.parse(body);
  return containsText(parsed, text);
}

function containsText(value: unknown, text: string): boolean {
  if (typeof value === 'string') return value.includes(text);
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).some((part) => containsText(part, text))
  );
}

class ScriptedModel {
  readonly requests: Asked[] = [];
  readonly #script: readonly Turn[];
  #turns = 0;

  constructor(script: readonly Turn[]) {
    this.#script = script;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const body = await readText(request);
    const protocol = request.method === 'POST' ? PROTOCOLS.find(({ owns }) => owns(path)) : undefined;
    if (protocol === undefined) {
      this.requests.push({ path, model: '', body, turn: 'not found', used: null });
      const turn = this.#upcoming;
      if (turn?.type === 'page') showPage(turn, response);
      else response.writeHead(404).end();
      return;
    }
    const question: unknown = JSON.parse(body);
    const isSideQuestion = protocol.tools(question).length === 0;
    const model = modelOf(question, path);
    const number = isSideQuestion ? 'side question' : this.#turns;
    const turn = isSideQuestion ? this.#aside() : this.#next();
    const used = 'usage' in turn ? turn.usage : null;
    this.requests.push({ path, model, body, turn: number, used });
    const id = String(this.requests.length);
    this.#play(turn, { protocol, question, path, model, id }, response);
  }

  get #upcoming(): Turn | undefined {
    return this.#script[Math.min(this.#turns, this.#script.length - 1)];
  }

  #aside(): Turn {
    const turn = this.#upcoming;
    return turn?.type === 'page' ? turn : says('Scripted');
  }

  #next(): Turn {
    const turn = this.#upcoming;
    this.#turns++;
    if (turn === undefined) throw new Error('the script is empty; it needs at least one turn');
    return turn;
  }

  #play(turn: Turn, { protocol, question, path, model, id }: Question, response: ServerResponse): void {
    if (turn.type === 'hang') return;
    if (turn.type === 'page') return showPage(turn, response);
    if (turn.type === 'break-off')
      return breakOff(turn.how, { protocol, question, path, model, id }, response);
    if (turn.type === 'fault') return fail(protocol.fail(turn.fault, Date.now()), response);
    const call = callOf(turn, protocol.tools(question), `call_${id}`);
    if (turn.type !== 'text' && call === null)
      throw new Error(
        `the agent offers no such tool in its ${protocol.name} request: ${JSON.stringify(turn)}`,
      );
    const text = turn.type === 'text' ? turn.text : null;
    const reply = protocol.answer({ id, model, text, call, usage: turn.usage });
    if (protocol.streams(question, path)) stream(reply, response);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply.whole));
  }
}

function callOf(turn: Turn, tools: readonly Tool[], id: string): Call | null {
  if (turn.type === 'shell') return shellCall(turn.command, tools, id);
  const tool = turn.type === 'tool' ? tools.find(({ name }) => name.endsWith(turn.tool)) : undefined;
  if (turn.type !== 'tool' || tool === undefined) return null;
  const { name, namespace } = tool;
  return { id, name, ...(namespace === undefined ? {} : { namespace }), input: turn.input };
}

interface Question {
  readonly protocol: Protocol;
  readonly question: unknown;
  readonly path: string;
  readonly model: string;
  readonly id: string;
}

/** Most protocols have the model in the body, Gemini has it in the path. */
function modelOf(question: unknown, path: string): string {
  const model = at(question, 'model');
  return typeof model === 'string' ? model : (/\/models\/([^/:]+):/.exec(path)?.[1] ?? '');
}

const CUT_OFF = 'This answer has a beginning and no end.';

function stream({ events }: Pick<Reply, 'events'>, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events) response.write(line(event));
  response.end();
}

function fail({ status, headers, body }: Failure, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** Sends the first half of an answer and then the error, or nothing more. An answer in one piece has no half. */
function breakOff(
  how: BreakOff,
  { protocol, question, path, ...asked }: Question,
  response: ServerResponse,
): void {
  if (!protocol.streams(question, path)) {
    if (how === 'drop') response.destroy();
    else fail(protocol.fail({ kind: how }, Date.now()), response);
    return;
  }
  // Claude Code repeats a request whose answer has no complete block yet; the text is one, the tool call is not.
  const call = shellCall('true', protocol.tools(question), `call_${asked.id}`);
  const { events } = protocol.answer({ ...asked, text: CUT_OFF, call, usage: USAGE });
  const half = events.slice(0, Math.ceil(events.length / 2));
  if (how !== 'drop') return stream({ events: [...half, protocol.interrupt({ kind: how })] }, response);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(half.map(line).join(''), () => response.destroy());
}

function line({ event, data }: StreamEvent): string {
  const name = event === null ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

function showPage({ status, body }: Extract<Turn, { type: 'page' }>, response: ServerResponse): void {
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8' }).end(body);
}
