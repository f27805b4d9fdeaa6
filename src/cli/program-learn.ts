import type { Add, Call } from './program-call.ts';

/** Adds `ralph skill`. */
export function skillCommand(add: Add, { done }: Call): void {
  add('skill', 'print how an agent drives ralph: start, watch, answer, stop, read the result').action(
    async () => {
      const { showPage } = await import('./pages.ts');
      done(await showPage('skill'));
    },
  );
}
