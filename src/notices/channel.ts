/** A way on which notices reach a person: one file per channel, one row in `channels.ts`. */
import type { NoticeTarget } from '../home/spec.ts';
import type { ToldNotice } from '../text/notices.ts';

export interface Channel {
  readonly name: string;
  /** Whether it is the one that sends to this target; `address` is null for a target without one. */
  readonly serves: (target: NoticeTarget, address: URL | null) => boolean;
  /** Resolves when the notice is delivered; throws `Undelivered` if it is not. */
  readonly send: (notice: ToldNotice, way: Way) => Promise<void>;
}

/** Where and how a notice is sent. */
export interface Way {
  readonly target: NoticeTarget;
  /** Without the name of the channel that a user may put in front. */
  readonly address: URL | null;
  /** The key of a webhook's signature, or the access token of a server. */
  readonly key: string | null;
  readonly cwd: string;
  /** For programs: without the addresses and keys of notices. */
  readonly env: Readonly<Record<string, string>>;
  readonly interrupt: AbortSignal;
}

/** A notice did not arrive. The message has no address: it is shown in the status. */
export class Undelivered extends Error {
  /** Whether a later attempt may help. */
  readonly mayRetry: boolean;

  constructor(message: string, mayRetry: boolean) {
    super(message);
    this.name = 'Undelivered';
    this.mayRetry = mayRetry;
  }
}
