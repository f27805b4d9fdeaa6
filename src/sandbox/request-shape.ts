/** What `ralph` in a sandbox can ask for. A field that is not listed here makes a request unreadable. */
import {
  fits,
  flag,
  list,
  nonBlank,
  nullable,
  object,
  oneOf,
  partial,
  rule,
  string,
  variant,
  type Rule,
} from '../loop/shape.ts';

export type SandboxRequest =
  | { readonly type: 'status'; readonly loop: string | null }
  | { readonly type: 'tell'; readonly loop: string; readonly text: string }
  /** Starts a child loop of the sandbox's loop. */
  | ({ readonly type: 'start' } & ChildStart)
  /** Waits for a while until a child loop rests. */
  | { readonly type: 'wait'; readonly loop: string }
  /** Stops a child loop. */
  | { readonly type: 'stop'; readonly loop: string; readonly now: boolean };

/** The command that starts a child, as far as a sandbox can use it. */
export interface ChildStart {
  readonly command: (typeof STARTS)[number];
  readonly task: string;
  /** The values as the command line has them. */
  readonly options: {
    readonly name?: string;
    readonly tag?: readonly string[];
    readonly maxIterations?: string;
    readonly maxTime?: string;
    readonly maxCost?: string;
    readonly maxTokens?: string;
    readonly check?: readonly string[];
    readonly until?: string;
    readonly agent?: string;
  };
  /** The words after `--`. */
  readonly argv: readonly string[];
}

export const STARTS = ['run', 'loop', 'spawn'] as const;

/** Null if it does not fit the schema. */
export function requestIn(value: unknown): SandboxRequest | null {
  return isRequest(value) ? value : null;
}

function isRequest(value: unknown): value is SandboxRequest {
  return fits(REQUEST, value);
}

const word = rule('a string without NUL', (value) => typeof value === 'string' && !value.includes('\0'));
const text: Rule = (value, field) => [...nonBlank(value, field), ...word(value, field)];
const type = string;
const loop = string;

const REQUEST = variant('type', {
  status: object({ type, loop: nullable(loop) }),
  tell: object({ type, loop, text }),
  start: object({
    type,
    command: oneOf(STARTS),
    task: text,
    options: partial({
      name: text,
      tag: list(text),
      maxIterations: text,
      maxTime: text,
      maxCost: text,
      maxTokens: text,
      check: list(text),
      until: text,
      agent: text,
    } satisfies Record<keyof ChildStart['options'], Rule>),
    argv: list(word),
  }),
  wait: object({ type, loop }),
  stop: object({ type, loop, now: flag }),
} satisfies Record<SandboxRequest['type'], Rule>);
