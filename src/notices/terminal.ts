import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { linesOf } from '../text/notices.ts';
import type { Channel } from './channel.ts';

/** The terminal that the loop runs in: OSC 9, which many terminals show as a notification, and the bell. */
export const terminal: Channel = {
  name: 'terminal',
  serves: ({ kind }) => kind === 'terminal',
  send(notice) {
    const [title, text = ''] = linesOf(notice);
    try {
      // Not stderr, which can be a file. A terminal whose output was stopped must not stop the loop.
      const tty = openSync('/dev/tty', constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
      try {
        writeSync(tty, `\u001B]9;${title}: ${text}\u0007\u0007`);
      } finally {
        closeSync(tty);
      }
    } catch {
      // A loop in the background has none, and another terminal would not help.
    }
    return Promise.resolve();
  },
};
