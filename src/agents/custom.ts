import { StringDecoder } from 'node:string_decoder';
import type { Agent, AgentEvent } from './agent.ts';

/** Any command: what it prints is its own words, and the end of its process is the end of its turn. */
export const custom: Agent = {
  name: 'custom',
  read() {
    const decoder = new StringDecoder('utf8');
    return {
      push: (chunk) => said(decoder.write(chunk)),
      end: () => said(decoder.end()),
    };
  },
};

function said(text: string): readonly AgentEvent[] {
  return text === '' ? [] : [{ type: 'text', text, message: '' }];
}
