/** What a model is to do, one turn for each question that an agent asks it. The same words for every protocol. */
export type Turn =
  | { readonly type: 'text'; readonly text: string; readonly usage: Usage }
  /** A call of the agent's own shell tool, whatever that is called and whatever it wants to be told. */
  | { readonly type: 'shell'; readonly command: string; readonly usage: Usage }
  | { readonly type: 'fault'; readonly fault: Fault }
  /** The question is taken and never answered. */
  | { readonly type: 'hang' };

/** What one answer costs; `input` is what did not come from the cache. */
export interface Usage {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

/** An HTTP error in the words of the protocol. */
export type Fault =
  | { readonly kind: 'unauthorized' }
  | { readonly kind: 'broken' }
  | { readonly kind: 'overloaded' }
  /** The account has used up what it may use, until then. */
  | { readonly kind: 'usage-limit'; readonly resetsInSeconds: number };

/** What every answer costs if nothing else is said: no two numbers, nor any sums of them, are the same. */
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
