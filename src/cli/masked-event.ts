import type { AgentEvent } from '../agents/agent.ts';
import type { Mask } from '../store/mask.ts';

/** An event of an agent without secrets, before its lines are cut. Its words are masked where they are printed, piece by piece. */
export function maskedEvent<T extends AgentEvent>(event: T, mask: Mask): T {
  if (event.type === 'text') return event;
  // The adapters cut the input of a tool.
  const masked = mask.value(event);
  return event.type === 'tool.start' ? { ...masked, input: mask.cutText(event.input) } : masked;
}
