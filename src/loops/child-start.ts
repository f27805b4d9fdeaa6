/** The child loop that an agent in a sandbox can ask for. A field that is not listed here makes the request unreadable. */
import type { Settings } from '../settings/settings.ts';
import { PRESET_NAMES, UNTILS } from '../loop/policy.ts';
import { list, nonBlank, object, oneOf, optional, partial, rule, type Rule } from '../loop/shape.ts';
import type { StartRequest } from '../owner/make-request.ts';

export interface ChildStart extends Pick<StartRequest, 'workspace' | 'name' | 'tags' | 'command'> {
  readonly prompt: { readonly text: string };
  readonly settings: ChildSettings;
}

/** What a sandbox can choose of the settings. */
export type ChildSettings = Pick<
  Settings,
  'preset' | 'maxIterations' | 'maxTime' | 'maxCost' | 'maxTokens' | 'checks' | 'until' | 'agent'
>;

const word: Rule = rule(
  'a string without NUL',
  (value) => typeof value === 'string' && !value.includes('\0'),
);
const text: Rule = (value, field) => [...nonBlank(value, field), ...word(value, field)];
const number: Rule = rule('a number', (value) => typeof value === 'number');

export const CHILD_SETTINGS: Readonly<Record<keyof ChildSettings, Rule>> = {
  preset: oneOf(PRESET_NAMES),
  maxIterations: number,
  maxTime: text,
  maxCost: number,
  maxTokens: number,
  checks: list(object({ command: text })),
  until: oneOf(UNTILS),
  agent: object({ name: text }),
};

export const CHILD_START: Rule = object({
  // The loop works in the tree of its parent, whatever this is.
  workspace: word,
  prompt: object({ text }),
  name: optional(text),
  tags: optional(list(text)),
  settings: partial(CHILD_SETTINGS),
  command: optional(list(word)),
} satisfies Record<keyof ChildStart, Rule>);
