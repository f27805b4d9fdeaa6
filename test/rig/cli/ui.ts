import { request, type IncomingMessage } from 'node:http';
import { text as bodyOf } from 'node:stream/consumers';
import { isRecord } from '../../../src/loop/shape.ts';
import type { LoopRef } from '../../../src/loops/loops.ts';
import type { LiveLine, Wants } from '../../../src/web/live.ts';
import type { Program } from './program.ts';
import type { Rig } from './rig.ts';
import { inTime } from './until.ts';

/** A running `ralph ui`. */
export interface Ui {
  readonly program: Program;
  /** `http://127.0.0.1:4747`. */
  readonly origin: string;
  readonly port: number;
  readonly token: string;
  /** The address that it has printed. */
  readonly address: string;
}

export async function startUi(rig: Rig, ...args: readonly string[]): Promise<Ui> {
  const program = rig.ralph(['ui', ...args]);
  await program.says('end with Ctrl-C');
  const [address = '', origin = '', port = '', token = ''] =
    /(http:\/\/127\.0\.0\.1:(\d+))\/#token=([\w-]+)/.exec(program.said) ?? [];
  return { program, origin, port: Number(port), token, address };
}

/** How a request names a loop. */
export function refOf(rig: Rig, name: string): LoopRef {
  const spec: unknown = JSON.parse(rig.loop(name).read('spec.json'));
  const id = isRecord(spec) ? String(spec['id']) : '';
  return { id, name, workspace: rig.workspace };
}

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string;
}

export interface Got {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Reads the stream of what changes until it has these words, and drops the connection. */
export async function liveUntil(ui: Ui, wants: Wants, words: string): Promise<readonly LiveLine[]> {
  const sent = request({
    agent: false,
    host: '127.0.0.1',
    port: ui.port,
    method: 'POST',
    path: '/live',
    headers: {
      'sec-fetch-site': 'same-origin',
      origin: ui.origin,
      'content-type': 'application/json',
      authorization: `Bearer ${ui.token}`,
    },
  });
  const read = async (): Promise<string> => {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', resolve).on('error', reject).end(JSON.stringify(wants));
    });
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += String(chunk);
      if (text.includes(words) && text.endsWith('\n')) break;
    }
    return text;
  };
  const lines = (await inTime(`${words} in the stream`, read())).split('\n').slice(0, -1);
  sent.destroy();
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own server
  return lines.map((line) => JSON.parse(line) as LiveLine);
}

/** Sends a request as the page does, with other headers where they are given; `undefined` leaves one out. */
export async function asPage(
  ui: Ui,
  { method = 'POST', path = '/api', headers = {}, body }: Sent,
): Promise<Got> {
  const own = {
    host: `127.0.0.1:${ui.port}`,
    'sec-fetch-site': 'same-origin',
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
    ...(method === 'GET'
      ? {}
      : {
          origin: ui.origin,
          'content-type': 'application/json',
          authorization: `Bearer ${ui.token}`,
        }),
  };
  const all = Object.entries({ ...own, ...headers }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  // A refused connection is closed.
  const sent = request({
    agent: false,
    host: '127.0.0.1',
    port: ui.port,
    method,
    path,
    headers: Object.fromEntries(all),
  });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.on('response', resolve).on('error', reject).end(body);
  });
  return { status: response.statusCode ?? 0, headers: response.headers, body: await bodyOf(response) };
}
