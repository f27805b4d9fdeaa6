import type { Agent, AgentEvent } from './agent.ts';
import { custom } from './custom.ts';
import { failedResult, readTrouble } from './trouble.ts';

/** The agent in text mode: its output is plain text. An agent without a text mode is read as usual. */
export function inTextMode(agent: Agent): Agent {
  return agent.call === null ? agent : { ...agent, read };
}

const read: Agent['read'] = (run) => {
  const parser = custom.read(run);
  let printed = '';
  const remember = (events: readonly AgentEvent[]): readonly AgentEvent[] => {
    for (const event of events) {
      if (event.type === 'text' && printed.length <= MAX_ERROR_LENGTH) printed += event.text;
    }
    return events;
  };
  return {
    push: (chunk) => remember(parser.push(chunk)),
    end() {
      const events = remember(parser.end());
      const message = printed.trim();
      // Some CLIs print an API error in place of the answer.
      if (message.length > MAX_ERROR_LENGTH || !/^\W*API Error\b/.test(message)) return events;
      const trouble = readTrouble({ message }, run.startedAt);
      return [...events, ...failedResult(trouble, { usage: null, session: null })];
    },
  };
};

/** A longer text is an answer that only starts like an error. */
const MAX_ERROR_LENGTH = 1000;
