import type { AgentEvent } from './agent.ts';

/** Whether the event shows that the agent works, and not only that its CLI retries or gives up. */
export function isWork(event: AgentEvent): boolean {
  switch (event.type) {
    case 'text':
      return event.isEcho !== true;
    case 'result':
      return event.ok;
    case 'retry':
    case 'unknown':
      return false;
    case 'thought':
    case 'tool.start':
    case 'tool.end':
    case 'todo':
    case 'progress':
    case 'limit':
    case 'denied':
      return true;
  }
}
