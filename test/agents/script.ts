/** What a model does, one turn for each question of an agent. The same for every protocol. */
export type Turn =
  | { readonly type: 'text'; readonly text: string; readonly usage: Usage }
  /** A call of the agent's own shell tool, whatever its name and arguments are. */
  | { readonly type: 'shell'; readonly command: string; readonly usage: Usage }
  /** A call of a tool of the agent or of an MCP server, whatever the agent puts before its name. */
  | {
      readonly type: 'tool';
      readonly tool: string;
      readonly input: Readonly<Record<string, string | boolean>>;
      readonly usage: Usage;
    }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** The answer begins; then the stream reports an error, or the connection is dropped. */
  | { readonly type: 'break-off'; readonly how: BreakOff }
  /** Something between the agent and the provider answers instead: a captive portal or a proxy. */
  | { readonly type: 'page'; readonly status: number; readonly body: string }
  /** The question is accepted and never answered. */
  | { readonly type: 'hang' };

/** The usage of one answer; `input` excludes cached tokens. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** An HTTP error in the format of the protocol. */
export type Fault =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'broken' }
  | { readonly kind: 'overloaded' }
  | { readonly kind: 'prompt-too-long' }
  | { readonly kind: 'out-of-credit' }
  /** Too many requests: the provider says in its own way after how long it accepts another. */
  | { readonly kind: 'rate-limit'; readonly retryAfterSeconds: number }
  /** The account has reached its usage limit, until the reset. */
  | { readonly kind: 'usage-limit'; readonly resetsInSeconds: number };

/** What ends an answer in the middle. */
export type BreakOff = 'overloaded' | 'broken' | 'drop';

/** The default usage of an answer: all numbers and sums of them are different. */
export const USAGE: Usage = { input: 1000, cached: 200, output: 30 };

export function says(text: string, usage: Usage = USAGE): Turn {
  return { type: 'text', text, usage };
}

export function runs(command: string, usage: Usage = USAGE): Turn {
  return { type: 'shell', command, usage };
}

export function calls(
  tool: string,
  input: Readonly<Record<string, string | boolean>> = {},
  usage: Usage = USAGE,
): Turn {
  return { type: 'tool', tool, input, usage };
}

export function fails(kind: Exclude<Fault['kind'], 'usage-limit' | 'rate-limit'>): Turn {
  return { type: 'fault', fault: { kind } };
}

export function breaksOff(how: BreakOff): Turn {
  return { type: 'break-off', how };
}

/** The login page of a public network, with the status of a success. */
export function showsPortal(): Turn {
  const body =
    '<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Log in to the Wi-Fi.</body></html>';
  return { type: 'page', status: 200, body };
}

/** The page of a proxy that does not let a request through. */
export function isBlocked(): Turn {
  const body =
    '<!DOCTYPE html>\n<html><head><title>Access Denied</title></head><body>Blocked by policy.</body></html>';
  return { type: 'page', status: 403, body };
}

export function isLimited(resetsInSeconds: number): Turn {
  return { type: 'fault', fault: { kind: 'usage-limit', resetsInSeconds } };
}

/** HTTP 429; the agent may wait as long as it is told, without a word. */
export function isRateLimited(retryAfterSeconds: number): Turn {
  return { type: 'fault', fault: { kind: 'rate-limit', retryAfterSeconds } };
}

export function hangs(): Turn {
  return { type: 'hang' };
}
