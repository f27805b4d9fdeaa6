import { StringDecoder } from 'node:string_decoder';
import type { Agent, AgentEvent } from './agent.ts';
import { echoOf, type Said } from './echo.ts';
import { lastWords } from './trouble.ts';

/** Any command: what it prints is its own words, and the end of its process is the end of its turn. */
export const custom: Agent = {
  name: 'custom',
  call: null,
  tells: 'nothing',
  remedies: {},
  read({ startedAt, folder }) {
    const echo = echoOf(folder);
    const decoder = new StringDecoder('utf8');
    let tail = '';
    const say = ({ text, isEcho }: Said): AgentEvent => {
      if (!isEcho) tail = (tail + text).slice(-LONGEST_TAIL);
      return { type: 'text', text, message: '', ...(isEcho ? { isEcho } : {}) };
    };
    return {
      push: (chunk) => echo.push(decoder.write(chunk)).map(say),
      end() {
        const events = [...echo.push(decoder.end()), ...echo.end()].map(say);
        // What a CLI says before it gives up; whether it did is for its exit code to say.
        const limit = lastWords(tail, startedAt);
        return limit === null ? events : [...events, { type: 'limit', ...limit }];
      },
    };
  },
};

const LONGEST_TAIL = 4096;
