/** Aborts with the first of several signals. Node.js 20 forgets a timeout that only `AbortSignal.any` refers to, and it never fires. */
export function firstOf(...signals: readonly AbortSignal[]): AbortSignal {
  const first = AbortSignal.any([...signals]);
  kept.set(first, signals);
  return first;
}

const kept = new WeakMap<AbortSignal, readonly AbortSignal[]>();
