import type { RalphLog } from '../session/log.ts';

/** Warnings and errors only: the terminal belongs to the host program. */
export const CONSOLE_LOG: RalphLog = {
  info() {},
  warn(message, details) {
    // oxlint-disable-next-line no-console -- what a program without a logger sees
    console.warn(...(details === undefined ? [message] : [message, details]));
  },
  error(message, details) {
    // oxlint-disable-next-line no-console -- what a program without a logger sees
    console.error(...(details === undefined ? [message] : [message, details]));
  },
};
