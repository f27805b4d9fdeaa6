import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { ControlRequest, LoopView, Sent } from '../src/loops/loops.ts';
import type { Told } from '../src/loops/events.ts';
import { progressOf } from '../src/text/asked.ts';
import { sentText } from '../src/text/sent.ts';
import { ask, reasonOf } from './api.ts';
import { shown } from './shown.ts';

interface Asked {
  readonly kind: ControlRequest['type'];
  readonly what: string;
  /** The number of the last event before it. */
  readonly since: number;
  /** Null while no answer is here. */
  readonly sent: Sent | null;
  readonly problem: string | null;
}

/** What a person can ask of a loop, and how far that has come. */
export function Actions({ view, told }: { readonly view: LoopView; readonly told: readonly Told[] }) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [words, setWords] = useState('');
  const { summary } = view;
  const isOver = view.state.outcome !== null;
  const isPaused = summary.status === 'paused';
  const canResume =
    isPaused || (summary.owner === null && summary.status !== 'done' && summary.status !== 'in-session');
  return (
    <section class="actions" aria-label="Actions">
      {(summary.questions ?? []).map((question) => (
        <Answer
          key={question.id}
          text={question.text}
          onAnswer={(text) => send({ type: 'answer', question: question.id, text }, 'answer')}
        />
      ))}
      <div class="buttons">
        {!isOver && !isPaused && summary.owner !== null && (
          <button type="button" onClick={() => send({ type: 'pause' }, 'pause')}>
            Pause
          </button>
        )}
        {canResume && (
          <button type="button" onClick={() => resume({}, 'resume')}>
            Resume
          </button>
        )}
        {!isOver && (
          <Confirmed label="Stop" question="Stop after the running step?">
            <button type="button" onClick={() => send({ type: 'stop', now: false, by: 'person' }, 'stop')}>
              Stop after the step
            </button>
            <button
              type="button"
              class="danger"
              onClick={() => send({ type: 'stop', now: true, by: 'person' }, 'stop now')}
            >
              Stop now
            </button>
          </Confirmed>
        )}
        {summary.status !== 'done' && <RaiseLimit view={view} onRaise={raise} />}
      </div>
      {summary.status !== 'done' && (
        <form
          class="tell"
          onSubmit={(event) => {
            event.preventDefault();
            if (words.trim() === '') return;
            send({ type: 'tell', text: words }, 'tell');
            setWords('');
          }}
        >
          <label>
            Tell the agent{' '}
            <input value={words} maxLength={8000} onInput={(event) => setWords(event.currentTarget.value)} />
          </label>
          <button type="submit">Tell</button>
        </form>
      )}
      <div class="asked" role="status" aria-live="polite">
        {asked !== null && steps(asked)}
      </div>
    </section>
  );

  function begin(kind: Asked['kind'], what: string): Asked {
    const since = told.findLast((one) => one.is === 'event')?.number ?? 0;
    const begun = { kind, what, since, sent: null, problem: null };
    setAsked(begun);
    return begun;
  }

  function send(control: ControlRequest, what: string): void {
    end(begin(control.type, what), ask('send', [refOf(view), control]));
  }

  function resume(limits: Record<string, number>, what: string): void {
    end(begin('resume', what), ask('resume', [refOf(view), { limits, now: false, env: {}, detach: true }]));
  }

  /** A loop that has ended gets new limits with a resume. */
  function raise(limit: Limit, value: number): void {
    const what = `${LIMITS[limit].name} ${value}`;
    if (isOver) resume({ [LIMITS[limit].setting]: value }, `resume with ${what}`);
    else send({ type: 'set', limits: { [limit]: value } }, `set ${what}`);
  }

  function end(begun: Asked, answer: Promise<Sent>): void {
    answer.then(
      (sent) => setAsked({ ...begun, sent }),
      (error: unknown) => setAsked({ ...begun, problem: reasonOf(error) }),
    );
  }

  function steps({ kind, what, since, sent, problem }: Asked): ComponentChildren {
    if (problem !== null) return <p class="red">{shown(`${what}: ${problem}`)}</p>;
    const { taken, done } = progressOf(kind, since, told, view);
    const text = sent === null ? null : sentText(view, sent, '');
    const isOffTheWay = sent?.is === 'unneeded';
    return (
      <p>
        <b>{what}</b>
        {isOffTheWay ? '' : ': queued'}
        {taken !== null && ` → taken (event ${taken})`}
        {done !== null && ` → done (event ${done})`}
        {taken === null && sent?.is === 'ended' && ' → done'}
        {text !== null && text.text !== '' && taken === null && (
          <span class="note">{` ${shown(text.text)}`}</span>
        )}
      </p>
    );
  }
}

function refOf({ id, name, workspace }: LoopView): Pick<LoopView, 'id' | 'name' | 'workspace'> {
  return { id, name, workspace };
}

function Answer({ text, onAnswer }: { readonly text: string; readonly onAnswer: (words: string) => void }) {
  const [words, setWords] = useState('');
  return (
    <form
      class="question"
      onSubmit={(event) => {
        event.preventDefault();
        if (words.trim() !== '') onAnswer(words);
      }}
    >
      <label>
        <span class="asks">{shown(text)}</span>
        <textarea
          rows={2}
          maxLength={8000}
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Answer</button>
    </form>
  );
}

/** Buttons behind a first one, so that no single press ends a loop. */
function Confirmed(props: {
  readonly label: string;
  readonly question: string;
  readonly children: ComponentChildren;
}) {
  const [isAsking, setAsking] = useState(false);
  if (!isAsking)
    return (
      <button type="button" onClick={() => setAsking(true)}>
        {props.label} …
      </button>
    );
  return (
    <span class="confirm" role="group" aria-label={props.question} onClick={() => setAsking(false)}>
      {props.children}
      <button type="button">Cancel</button>
    </span>
  );
}

const LIMITS = {
  iterations: { name: 'iterations', setting: 'maxIterations', step: '1' },
  costUsd: { name: 'cost in $', setting: 'maxCost', step: '0.01' },
  tokens: { name: 'tokens', setting: 'maxTokens', step: '1' },
} as const;
type Limit = keyof typeof LIMITS;

function RaiseLimit({
  view,
  onRaise,
}: {
  readonly view: LoopView;
  readonly onRaise: (limit: Limit, value: number) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [limit, setLimit] = useState<Limit>('iterations');
  const [value, setValue] = useState('');
  const now = view.state.policy.limits[limit];
  if (!isOpen)
    return (
      <button type="button" onClick={() => setOpen(true)}>
        Raise a limit …
      </button>
    );
  return (
    <form
      class="raise"
      onSubmit={(event) => {
        event.preventDefault();
        if (!(Number(value) > 0)) return;
        onRaise(limit, Number(value));
        setOpen(false);
      }}
    >
      <label>
        Limit{' '}
        <select
          value={limit}
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the values of the options
          onChange={(event) => setLimit(event.currentTarget.value as Limit)}
        >
          {Object.entries(LIMITS).map(([key, { name }]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        {`from ${now ?? 'unlimited'} to `}
        <input
          type="number"
          min={LIMITS[limit].step}
          step={LIMITS[limit].step}
          value={value}
          onInput={(event) => setValue(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Set</button>
      <button type="button" onClick={() => setOpen(false)}>
        Cancel
      </button>
    </form>
  );
}
