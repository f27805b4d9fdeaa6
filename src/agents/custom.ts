import { StringDecoder } from 'node:string_decoder';
import type { Agent, AgentEvent } from './agent.ts';
import { echoOf, type Fragment } from './echo.ts';
import { limitInLastLine } from './trouble.ts';

/** Any other command: all of its output is the agent's own text, and the exit of its process is its result. */
export const custom: Agent = {
  name: 'custom',
  call: null,
  reports: 'nothing',
  remedies: {},
  read({ startedAt, folder }) {
    const echo = echoOf(folder);
    const decoder = new StringDecoder('utf8');
    let tail = '';
    const toEvent = ({ text, isEcho }: Fragment): AgentEvent => {
      if (!isEcho) tail = (tail + text.slice(-MAX_TAIL_LENGTH)).slice(-MAX_TAIL_LENGTH);
      return { type: 'text', text, message: '', ...(isEcho ? { isEcho } : {}) };
    };
    return {
      push: (chunk) => echo.push(decoder.write(chunk)).map(toEvent),
      end() {
        const events = [...echo.push(decoder.end()), ...echo.end()].map(toEvent);
        // A CLI may print its usage limit before it gives up; its exit code shows whether it did.
        const limit = limitInLastLine(tail, startedAt);
        return limit === null ? events : [...events, { type: 'limit', ...limit }];
      },
    };
  },
};

const MAX_TAIL_LENGTH = 4096;
