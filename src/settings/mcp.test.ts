import { expect, it } from 'vitest';
import { allowedChanges } from './mcp.ts';

it('what assistants may do adds up over the user and the workspace, whose local file overrides the shared one', () => {
  const layers = {
    user: { mcp: { allow: ['pause'] } },
    shared: { mcp: { allow: ['stop'] } },
    local: null,
  } as const;
  expect(allowedChanges(layers)).toEqual(['pause', 'stop']);
  expect(allowedChanges({ ...layers, local: { mcp: { allow: [] } } })).toEqual(['pause']);
  expect(allowedChanges({ user: null, shared: null, local: null })).toEqual([]);
});
