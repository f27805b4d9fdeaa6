import { duration } from '../journal/times.ts';
import type { AgentEvent } from '../agents/agent.ts';

/** What happens between the agent and its provider: the loop's business, not the agent's words. */
export class ProviderLines {
  /** Why the last try came to nothing. */
  #told: string | null = null;

  /** A new run. */
  begin(): void {
    this.#told = null;
  }

  lines(event: AgentEvent): readonly string[] {
    switch (event.type) {
      case 'retry':
        return [this.#retry(event)];
      case 'limit':
        return [`the provider says: ${event.message}`];
      case 'denied':
        return [`the agent was not allowed to use ${event.tool}: ${event.message.split('\n', 1)[0] ?? ''}`];
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

  /** A reason is told once; one that says no has answered. */
  #retry({ attempt, most, waitMs, error }: Extract<AgentEvent, { type: 'retry' }>): string {
    const isKnown = this.#told === error.message;
    this.#told = error.message;
    const what = error.kind === 'transient' ? 'no answer from the provider' : 'refused by the provider';
    const of = most === null ? '' : ` of ${most}`;
    const wait = waitMs === null ? '' : `, again in ${duration(waitMs, ' ')}`;
    return `${what} ${isKnown ? 'as before' : `(${error.message})`}: try ${attempt}${of}${wait}`;
  }
}
