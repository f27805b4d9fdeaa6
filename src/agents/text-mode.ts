import type { Agent, AgentEvent } from './agent.ts';
import { custom } from './custom.ts';
import { failedResult, readTrouble } from './trouble.ts';

/**
 * An agent that was called for plain text: what it prints is its words, whatever its stream would have been. One that
 * knows no other way than its stream is read as ever.
 */
export function inTextMode(agent: Agent): Agent {
  return agent.call === null ? agent : { ...agent, read };
}

const read: Agent['read'] = (run) => {
  const words = custom.read(run);
  let whole = '';
  const listen = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
    for (const event of events) {
      if (event.type === 'text' && whole.length <= LONGEST_ERROR) whole += event.text;
    }
    return events;
  };
  return {
    push: (chunk) => listen(words.push(chunk)),
    end() {
      const events = listen(words.end());
      const message = whole.trim();
      // Some print it where the answer should be.
      if (message.length > LONGEST_ERROR || !/^\W*API Error\b/.test(message)) return events;
      const trouble = readTrouble({ message }, run.startedAt);
      return [...events, ...failedResult(trouble, { usage: null, session: null })];
    },
  };
};

/** A longer text is an answer that happens to begin like this. */
const LONGEST_ERROR = 1000;
