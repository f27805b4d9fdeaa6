/** What went wrong, as reported by the agent, its stream or the operating system. */
export interface RunError {
  readonly kind: ErrorKind;
  readonly message: string;
}

export type ErrorKind =
  /** The program does not exist. */
  | 'command-not-found'
  /** The file exists but is not executable. */
  | 'not-executable'
  /** The agent's configuration is invalid. */
  | 'invalid-configuration'
  /** The prompt file does not exist. */
  | 'prompt-missing'
  /** The prompt file exists but cannot be read. */
  | 'prompt-unreadable'
  /** The provider rejects the credentials. */
  | 'authentication'
  /** The account has no credit left; only a payment helps. */
  | 'out-of-credit'
  /** Something between the agent and the provider, such as a proxy, refuses the connection for good. */
  | 'blocked'
  /** The provider does not know the model. */
  | 'unknown-model'
  /** The agent lacks a permission that it needs. */
  | 'permission-denied'
  /** The disk is full. */
  | 'disk-full'
  /** The provider refuses this request itself, for example because the prompt is too long. */
  | 'request-refused'
  /** Network, overload, rate limit, crash: a retry may help. */
  | 'transient'
  /** Anything else. */
  | 'other';
