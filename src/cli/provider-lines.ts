import { duration } from '../loop/counted.ts';
import type { AgentEvent } from '../agents/agent.ts';

/** Lines about retries, limits and denials that the agent reports: they concern the loop, not the agent's work. */
export class ProviderLines {
  /** The reason of the last retry. */
  #lastReason: string | null = null;

  /** A new run. */
  begin(): void {
    this.#lastReason = null;
  }

  lines(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'retry':
        return [this.#retry(event)];
      case 'limit':
        return [`the provider says: ${event.message}`];
      case 'denied':
        return [`permission to use ${event.tool} denied: ${event.message.split('\n', 1)[0] ?? ''}`];
      case 'text':
      case 'thought':
      case 'tool.start':
      case 'tool.end':
      case 'todo':
      case 'progress':
      case 'result':
      case 'unknown':
        return [];
    }
  }

  /** Prints a reason once, not again with every retry. */
  #retry({ attempt, most, waitMs, error }: Extract<AgentEvent, { type: 'retry' }>): string {
    const isRepeated = this.#lastReason === error.message;
    this.#lastReason = error.message;
    const isReached = error.kind !== 'transient' && error.kind !== 'blocked';
    const what = isReached ? 'rejected by the provider' : 'provider unavailable';
    const of = most === null ? '' : ` of ${most}`;
    const wait = waitMs === null ? '' : ` in ${duration(waitMs, ' ')}`;
    return `${what} (${isRepeated ? 'same error' : error.message}): retry ${attempt}${of}${wait}`;
  }
}
