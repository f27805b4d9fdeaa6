/** A turn of a session that has ended: what the agent said and used, as the host program reports it. */
export interface FinishedTurn {
  /** Of this turn only, in order. Only the agent's own text can complete a loop. */
  readonly messages: readonly TurnMessage[];
  /** Number of tool calls. */
  readonly steps?: number | undefined;
  /** Used in this turn; absent if the host program does not report it. */
  readonly tokens?: TurnTokens | undefined;
  readonly costUsd?: number | undefined;
  /** Prices the tokens if the cost is not reported. */
  readonly model?: string | undefined;
  /** Why the turn broke off; absent if the session ended it in order. */
  readonly error?: TurnError | undefined;
}

export interface TurnMessage {
  readonly role: 'assistant' | 'reasoning' | 'tool' | 'user';
  readonly text: string;
}

export interface TurnTokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface TurnError {
  readonly message: string;
  /** A usage limit of the provider; `resetsAt` in milliseconds since 1970, null if it is not known. */
  readonly limit?: { readonly resetsAt: number | null } | undefined;
}
