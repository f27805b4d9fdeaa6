import type { Fault, Usage } from '../script.ts';

/** How agents call a model over HTTP: the port. The other files of this folder are its protocols. */
export interface Protocol {
  readonly name: string;
  /** Whether a POST to this path is a question to a model. */
  readonly owns: (path: string) => boolean;
  /** Whether the answer has to be streamed. */
  streams(question: unknown, path: string): boolean;
  /** The tools that a question offers. */
  tools(question: unknown): readonly Tool[];
  answer(answer: Answer): Reply;
  fail(fault: Fault, now: number): Failure;
  /** The event that reports a fault inside an open stream. */
  interrupt(fault: Fault): StreamEvent;
}

export interface Tool {
  readonly name: string;
  /** A JSON schema. */
  readonly schema: unknown;
  /** Present if the protocol groups tools. */
  readonly namespace?: string;
}

export interface Answer {
  /** Unique, for every field that needs an id. */
  readonly id: string;
  readonly model: string;
  readonly text: string | null;
  readonly call: Call | null;
  readonly usage: Usage;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly input: Readonly<Record<string, string | boolean>>;
}

export interface Reply {
  /** The answer in one piece. */
  readonly whole: object;
  /** The same as server-sent events. */
  readonly events: readonly StreamEvent[];
}

export interface StreamEvent {
  /** Null if the protocol does not name its events. */
  readonly event: string | null;
  readonly data: object | string;
}

export interface Failure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export function named(event: string, data: object): StreamEvent {
  return { event, data: { type: event, ...data } };
}

export function unnamed(data: object | string): StreamEvent {
  return { event: null, data };
}

/** The header of a rate limit; other faults have none. */
export function retryAfter(fault: Fault): Readonly<Record<string, string>> {
  return fault.kind === 'rate-limit' ? { 'retry-after': String(fault.retryAfterSeconds) } : {};
}

/** Splits a text into three pieces, regardless of words, as a stream does. */
export function pieces(text: string): readonly string[] {
  const third = Math.ceil(text.length / 3);
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)].filter(
    (piece) => piece !== '',
  );
}
