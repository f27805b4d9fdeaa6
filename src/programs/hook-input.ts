/**
 * What a host program gives to its hooks: JSON on stdin, and an environment.
 *
 * 1. Anything but an event of a session is null: a hook never fails because of its input.
 * 2. A session id is validated before it can become a path.
 * 3. The other fields are unknown until they are read, and a field of another type is null.
 */
import { isAbsolute } from 'node:path';
import { startersEnvironment } from '../home/run-environment.ts';
import { isRecord } from '../loop/shape.ts';
import { isSessionId } from '../session/session-file.ts';

/** The event in a hook's input; null if it is not one. */
export function hookInput(input: unknown): HookInput | null {
  if (!isRecord(input)) return null;
  const { hook_event_name: event, session_id: session } = input;
  if (typeof event !== 'string' || !isSessionId(session)) return null;
  const text = (name: string): string | null => {
    const value = Object.hasOwn(input, name) ? input[name] : null;
    return typeof value === 'string' ? value : null;
  };
  const path = (name: string): string | null => {
    const value = text(name);
    return value !== null && isAbsolute(value) && !value.includes('\0') ? value : null;
  };
  return { event, session, cwd: path('cwd'), transcript: path('transcript_path'), text, fields: input };
}

export interface HookInput {
  readonly event: string;
  readonly session: string;
  /** The current folder of the session, which changes with `cd`. */
  readonly cwd: string | null;
  /** The file with the messages of the session. */
  readonly transcript: string | null;
  /** A text field of the event; null if it is missing or is no text. */
  readonly text: (name: string) => string | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The environment of a loop's checks: that of the session, without the variables that a host program sets for its hooks. */
export function checkEnvironment(env: NodeJS.ProcessEnv, ofHooks: RegExp): Record<string, string> {
  return Object.fromEntries(Object.entries(startersEnvironment(env)).filter(([name]) => !ofHooks.test(name)));
}
