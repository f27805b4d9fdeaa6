import { isRecord } from '../../loop/shape.ts';
import { CONSOLE_LOG, errorText, type RalphLog } from '../log.ts';
import { withTimeout } from './timers.ts';
import type { Hook, HookContext, HookResult } from './types.ts';

/** Calls the hooks of a host program. */
export interface HookRegistry {
  /** Adds a hook, in place of one of the same name; with `enabled: false` only the place is cleared. */
  register(hook: Hook, options?: { readonly enabled?: boolean }): void;
  unregister(name: string): boolean;
  /** The hooks that are called, in their order. */
  hooks(): readonly Hook[];
  /**
   * Calls the hooks for an event, one after the other, and returns their results. A hook that fails or takes too long does not
   * stop the others, unless its error contains `CRITICAL`: that one is thrown.
   */
  emit(context: HookContext): Promise<readonly HookResult[]>;
}

export function createHookRegistry({
  timeoutMs = HOOK_TIMEOUT,
  log = CONSOLE_LOG,
}: { readonly timeoutMs?: number; readonly log?: RalphLog } = {}): HookRegistry {
  let registered: readonly Hook[] = [];
  return {
    register(hook, { enabled = true } = {}) {
      const others = registered.filter(({ name }) => name !== hook.name);
      registered = (enabled ? [...others, hook] : others).toSorted((a, b) => b.priority - a.priority);
    },
    unregister(name) {
      const count = registered.length;
      registered = registered.filter((hook) => hook.name !== name);
      return registered.length < count;
    },
    hooks: () => registered,
    async emit(context) {
      const results: HookResult[] = [];
      for (const hook of registered.filter(({ events }) => events.includes(context.event))) {
        try {
          // oxlint-disable-next-line no-await-in-loop -- a hook may rely on what those before it have done
          const result = await withTimeout(hook.handler(context), timeoutMs);
          if (isRecord(result)) results.push(result);
        } catch (error) {
          const message = errorText(error);
          log.error(`Hook ${hook.name} failed: ${message}`, { event: context.event });
          if (message.includes('CRITICAL')) throw error;
        }
      }
      return results;
    },
  };
}

/** The registry of this program. */
export function getHookRegistry(): HookRegistry {
  shared ??= createHookRegistry();
  return shared;
}

let shared: HookRegistry | null = null;

/** In milliseconds, for each hook. */
const HOOK_TIMEOUT = 30_000;
