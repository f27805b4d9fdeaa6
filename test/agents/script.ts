/** What a model does, one turn for each question of an agent. The same for every protocol. */
export type Turn =
  | { readonly type: 'text'; readonly text: string; readonly usage: Usage }
  /** A call of the agent's own shell tool, whatever its name and arguments are. */
  | { readonly type: 'shell'; readonly command: string; readonly usage: Usage }
  | { readonly type: 'fault'; readonly fault: Fault }
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
  /** The account has reached its usage limit, until the reset. */
  | { readonly kind: 'usage-limit'; readonly resetsInSeconds: number };

/** The default usage of an answer: all numbers and sums of them are different. */
export const USAGE: Usage = { input: 1000, cached: 200, output: 30 };

export function says(text: string, usage: Usage = USAGE): Turn {
  return { type: 'text', text, usage };
}

export function runs(command: string, usage: Usage = USAGE): Turn {
  return { type: 'shell', command, usage };
}

export function fails(kind: 'unauthorized' | 'broken' | 'overloaded'): Turn {
  return { type: 'fault', fault: { kind } };
}

export function isLimited(resetsInSeconds: number): Turn {
  return { type: 'fault', fault: { kind: 'usage-limit', resetsInSeconds } };
}

export function hangs(): Turn {
  return { type: 'hang' };
}
