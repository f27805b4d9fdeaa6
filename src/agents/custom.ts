import { StringDecoder } from 'node:string_decoder';
import type { Agent } from './agent.ts';

/** Any command: what it prints is its own words, and the end of its process is the end of its turn. */
export const custom: Agent = {
  name: 'custom',
  read() {
    const decoder = new StringDecoder('utf8');
    const said = (text: string) => (text === '' ? [] : [{ type: 'text', text, message: '' } as const]);
    return {
      push: (chunk) => said(decoder.write(chunk)),
      end: () => said(decoder.end()),
    };
  },
};
