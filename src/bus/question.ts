/** How a question on the bus says which answer applies if none comes in time: in the `meta` of its message. */
import type { Message } from './message.ts';

export interface DefaultAnswer {
  readonly text: string;
  /** How long after the question it applies. */
  readonly afterMs: number;
}

export function metaOfDefault({ text, afterMs }: DefaultAnswer): Message['meta'] {
  return { default: text, timeout_ms: String(afterMs) };
}

/** Null if the message has none, or none with a valid time: then only a person can answer. */
export function defaultIn({ meta }: Pick<Message, 'meta'>): DefaultAnswer | null {
  const afterMs = Number(meta['timeout_ms']);
  const text = meta['default'];
  return text !== undefined && Number.isSafeInteger(afterMs) && afterMs > 0 ? { text, afterMs } : null;
}
