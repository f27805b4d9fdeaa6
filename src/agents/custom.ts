import { StringDecoder } from 'node:string_decoder';
import type { Agent, AgentEvent } from './agent.ts';
import { lastWords } from './trouble.ts';

/** Any command: what it prints is its own words, and the end of its process is the end of its turn. */
export const custom: Agent = {
  name: 'custom',
  call: null,
  tells: 'nothing',
  remedies: {},
  read({ startedAt }) {
    const decoder = new StringDecoder('utf8');
    let tail = '';
    const said = (text: string): readonly AgentEvent[] => {
      tail = (tail + text).slice(-LONGEST_TAIL);
      return text === '' ? [] : [{ type: 'text', text, message: '' }];
    };
    return {
      push: (chunk) => said(decoder.write(chunk)),
      end() {
        const events = said(decoder.end());
        // What a CLI says before it gives up; whether it did is for its exit code to say.
        const limit = lastWords(tail, startedAt);
        return limit === null ? events : [...events, { type: 'limit', ...limit }];
      },
    };
  },
};

const LONGEST_TAIL = 4096;
