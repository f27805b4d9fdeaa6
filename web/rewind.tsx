import { useState } from 'preact/hooks';
import type { LoopRef } from '../src/loops/loops.ts';
import type { Rewound } from '../src/loops/rewind.ts';
import { ask, reasonOf } from './api.ts';
import { Diff } from './diff.tsx';
import { shown } from './shown.ts';

type Step =
  | { readonly is: 'closed' | 'shown' | 'asked' }
  | { readonly is: 'done'; readonly rewound: Rewound }
  | { readonly is: 'failed'; readonly why: string };

/** Restores the files as they were after an iteration, once a person has seen what that takes back. */
export function Rewind({ loop, iteration }: { readonly loop: LoopRef; readonly iteration: number }) {
  const [step, setStep] = useState<Step>({ is: 'closed' });
  const checkpoint = String(iteration);
  const rewind = (): void => {
    setStep({ is: 'asked' });
    ask('rewind', [loop, checkpoint]).then(
      (rewound) => setStep({ is: 'done', rewound }),
      (error: unknown) => setStep({ is: 'failed', why: reasonOf(error) }),
    );
  };
  if (step.is === 'closed')
    return (
      <button type="button" onClick={() => setStep({ is: 'shown' })}>
        Rewind the files to the end of this iteration …
      </button>
    );
  if (step.is === 'done') return <p role="status">{shown(outcomeOf(step.rewound, loop.name, checkpoint))}</p>;
  return (
    <section aria-label="Rewind">
      <h3>{`This was changed after iteration ${iteration}, and would be taken back`}</h3>
      <Diff loop={loop} what={`${checkpoint}..now`} special={[]} />
      <p class="buttons">
        <button type="button" class="danger" disabled={step.is === 'asked'} onClick={rewind}>
          Rewind
        </button>
        <button type="button" onClick={() => setStep({ is: 'closed' })}>
          Cancel
        </button>
      </p>
      {step.is === 'failed' && (
        <p class="red" role="alert">
          {shown(step.why)}
        </p>
      )}
    </section>
  );
}

function outcomeOf({ change, back }: Rewound, name: string, checkpoint: string): string {
  if (back === null) return `the files already match checkpoint ${checkpoint}; nothing was changed`;
  return `rewound the files of ${name} to checkpoint ${checkpoint}: ${change}; undo with: ralph rewind ${name} ${back}`;
}
