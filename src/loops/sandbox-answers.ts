/**
 * What the owner of a loop answers to `ralph` in its sandbox.
 *
 * 1. For a sandbox there are only its own loop and the loops below it, all of them in its own tree. Whether another loop exists is
 *    not told.
 * 2. A wait is answered after a while in any case: the sandbox asks again.
 */
import type { SandboxAnswers } from '../owner/answer-sandbox.ts';
import type { SandboxedParent } from '../owner/owner.ts';
import { findFolder } from '../home/read-loop.ts';
import { registeredIn } from '../home/registry.ts';
import { treeOf } from '../home/spec.ts';
import { refOf } from './find.ts';
import { localLoops } from './local-loops.ts';
import type { Loops } from './loops.ts';
import { answer, requestIn } from './request.ts';
import { Rights } from './rights.ts';

export function sandboxAnswers(parent: SandboxedParent): SandboxAnswers {
  const own = refOf(parent);
  const rights = new Rights(() => ({ is: 'sandbox', own }));
  const loops: Loops = {
    ...localLoops({
      rights,
      confinedTo: parent,
      keys: () => [own, ...registeredIn(treeOf(parent.spec)).filter(({ id }) => id !== own.id)],
    }),
    async find(name) {
      const below = name === own.name ? null : findFolder(treeOf(parent.spec), name);
      if (below === null && (name === own.name || name === 'self')) return own;
      const loop = { id: below?.id ?? '', name, workspace: below?.workspace ?? '' };
      if (name === 'self' && !rights.allow('look', loop)) return own;
      await rights.require('look', loop, name);
      return loop;
    },
    async strays() {
      return { gone: [], strangers: [] };
    },
  };
  return (value) => {
    const request = requestIn(value);
    if (request === null) return null;
    return {
      starts: request.verb === 'start',
      carryOut: () => answer(loops, request, AbortSignal.timeout(WAIT_MS)),
    };
  };
}

/** Less than a sandbox waits for the answer. */
const WAIT_MS = 20_000;
