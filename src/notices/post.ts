import { firstOf } from '../process/first-of.ts';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { codeOf } from '../files/files.ts';
import { Undelivered, type Way } from './channel.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * Posts JSON to the address of a target.
 *
 * 1. It follows no redirect: the address would go to another host.
 * 2. An error names a code, never an address or what the server says.
 * 3. Every request has its own connection, which ends with it.
 */
export async function postJson(
  { address, target, interrupt }: Pick<Way, 'address' | 'target' | 'interrupt'>,
  value: unknown,
  more: Headers | ((body: string) => Headers) = {},
): Promise<void> {
  if (address === null) throw new Undelivered('no address', false);
  const url = new URL(address.href.replace(/^\w+\+/, ''));
  const body = JSON.stringify(value);
  // Both load much of Node.js, which a loop without notices does not need.
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  const headers = {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': 'ralph',
    ...(typeof more === 'function' ? more(body) : more),
  };
  const signal = firstOf(interrupt, AbortSignal.timeout(target.timeoutMs));
  const asked = request(url, { method: 'POST', headers, agent: false, signal });
  const code = await answerTo(asked, body, signal);
  if (code >= 200 && code < 300) return;
  if (code >= 300 && code < 400) throw new Undelivered(`HTTP ${code}: Ralph follows no redirect`, false);
  throw new Undelivered(`HTTP ${code}`, code >= 500 || TEMPORARY.has(code));
}

/** Timeout, too early, too many requests. */
const TEMPORARY: ReadonlySet<number> = new Set([408, 425, 429]);

/** The status that the server answers with. */
function answerTo(asked: ClientRequest, body: string, signal: AbortSignal): Promise<number> {
  return new Promise((resolve, reject) => {
    asked.on('response', (answer: IncomingMessage) => {
      resolve(answer.statusCode ?? 0);
      // Its content does not matter, and it may never end.
      answer.destroy();
    });
    asked.on('error', (error) => {
      const why = signal.aborted ? 'no answer in time' : (codeOf(error) ?? 'the connection failed');
      reject(new Undelivered(why, true));
    });
    asked.end(body);
  });
}
