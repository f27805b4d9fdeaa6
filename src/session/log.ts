/** Where a loop inside a session writes what it does. */
export interface RalphLog {
  info(message: string, details?: LogDetails): void;
  warn(message: string, details?: LogDetails): void;
  error(message: string, details?: LogDetails): void;
}

export type LogDetails = Readonly<Record<string, unknown>>;

/** An error as a log shows it. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

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

export const SILENT: RalphLog = { info() {}, warn() {}, error() {} };

let front: RalphLog = CONSOLE_LOG;

/** A front says what becomes of what steps log; without one it goes to the console. */
export function logStepsTo(log: RalphLog): void {
  front = log;
}

/** What steps log, for the front that takes them. */
export const STEP_LOG: RalphLog = {
  info: (message, details) => front.info(message, details),
  warn: (message, details) => front.warn(message, details),
  error: (message, details) => front.error(message, details),
};
