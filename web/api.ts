/** Calls a verb of the hall. */
import type { LoopsAnswer } from '../src/loops/request.ts';
import type { Loops } from '../src/loops/loops.ts';
import { token } from './token.ts';

/** What the server or the hall has said instead of an answer. */
export class Refusal extends Error {
  readonly isToken: boolean;

  constructor(message: string, isToken = false) {
    super(message);
    this.isToken = isToken;
  }
}

type Verb =
  | 'get'
  | 'runs'
  | 'events'
  | 'output'
  | 'facts'
  | 'diff'
  | 'patch'
  | 'list'
  | 'send'
  | 'resume'
  | 'rewind';

export async function ask<V extends Verb>(
  verb: V,
  args: Parameters<Loops[V]>,
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<Loops[V]>>> {
  const response = await post('/api', { verb, args }, signal);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own server
  const answer = (await response.json()) as LoopsAnswer;
  if (!answer.ok) throw new Refusal(answer.message);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as the verb is declared
  return answer.value as Awaited<ReturnType<Loops[V]>>;
}

/** Sends JSON with the token. */
export async function post(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token() ?? ''}` },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  if (response.status === 403) throw new Refusal(await response.text(), true);
  return response;
}

/** What went wrong, in words. */
export function reasonOf(error: unknown): string {
  if (error instanceof Refusal) return error.message;
  return error instanceof TypeError ? 'ralph ui does not answer; is it still running?' : String(error);
}
