import {
  admits,
  classify,
  decide,
  evolve,
  explain,
  INITIAL,
  openRun,
  resolvePolicy,
} from 'ralph-until-done/core';
import type { Happening } from 'ralph-until-done/core';

const resolution = resolvePolicy({ preset: 'promise', limits: { iterations: 5 }, checkpoint: false });
if (!resolution.ok) throw new Error('invalid policy, see resolution.problems');

let state = INITIAL;
const write = (happening: Happening): void => {
  const event = { ...happening, at: Date.now() };
  if (admits(state, event)) state = evolve(state, event); // a real driver journals the event first
};

write({ type: 'loop.created', name: 'driver', policy: resolution.policy });
while (state.outcome === null) {
  for (const effect of decide(state)) {
    if (effect.type === 'record') write(effect.event);
    if (effect.type === 'wait') {
      const { key, until } = effect;
      await new Promise((wake) => setTimeout(wake, (until ?? 0) - Date.now()));
      write({ type: 'timer.fired', key });
    }
    if (effect.type === 'run') {
      const { run, purpose } = effect;
      write({ type: 'run.planned', run, purpose, guidance: [], prompt: null });
      const claim =
        state.iteration < 2 ? null : ({ by: 'promise-tag', text: '<promise>DONE</promise>' } as const);
      const spent = { tokens: null, cost: null, steps: 1, said: 'success', limit: null } as const;
      write({ type: 'run.output', run, offset: 1, claim, claimEndsRun: false, ...spent });
      const ending = { how: 'exited', code: 0, error: null } as const;
      const open = openRun(state);
      if (open !== null)
        write({ type: 'run.ended', run, ending, as: classify(open, ending, state.policy), jitter: 0 });
    }
  }
}
console.log(`${explain(state.outcome, state.policy)} (${state.iteration} iterations)`);
