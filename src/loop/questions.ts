/**
 * Questions to a person, asked on the message bus.
 *
 * 1. An open question keeps the next run from starting until a person answers it, or until its default applies. Everything
 *    before that (the running agent, checks, a commit) is unaffected, and the loop can be paused, stopped and exhausted meanwhile.
 * 2. Only a control answers a question: every agent can write to the bus.
 * 3. The answer is guidance for the next prompt.
 */
import type { Effect } from './effect.ts';
import { capAtDeadline } from './limits.ts';
import type { LoopState } from './state.ts';

/** What an agent wants to know. */
export interface Question {
  /** The id of the message on the bus. */
  readonly id: string;
  readonly text: string;
  /** The answer if none comes in time; null if only a person can answer. */
  readonly default: string | null;
}

export interface OpenQuestion extends Question {
  /** When the default applies; null if only a person can answer. */
  readonly until: number | null;
}

/** The wait for the answer to the oldest open question; undefined if there is none. */
export function awaitAnswer(state: LoopState): readonly Effect[] | undefined {
  const [question] = state.questions;
  if (question === undefined) return undefined;
  return [
    { type: 'wait', key: answerKey(question), until: capAtDeadline(state, question.until), why: 'answer' },
  ];
}

/** Whether a new question can be taken; an agent may post any number of them. */
export function mayAsk({ questions, messages }: LoopState, { id }: Question): boolean {
  return questions.length < MAX_OPEN && messages.asked !== id && questions.every((open) => open.id !== id);
}

/** The question that an answer is for: the named one, or the oldest. */
export function questionFor({ questions }: LoopState, id: string | null): OpenQuestion | undefined {
  return id === null ? questions[0] : questions.find((question) => question.id === id);
}

/** The state after a wait for an answer; unchanged if the loop's own time limit ended the wait. */
export function answerByDefault(state: LoopState, key: string): LoopState {
  const question = state.questions.find((open) => answerKey(open) === key);
  if (question === undefined || question.default === null) return state;
  if (question.until === null || state.now < question.until) return state;
  return answered(state, question, {
    id: key,
    text: `You asked: ${question.text}\nNo answer came in time. Continue with your default: ${question.default}`,
  });
}

/** The state after a person's answer. */
export function answerBy(state: LoopState, id: string, question: OpenQuestion, text: string): LoopState {
  return answered(state, question, { id, text: `You asked: ${question.text}\nThe answer: ${text}` });
}

function answered(
  state: LoopState,
  { id }: OpenQuestion,
  guidance: { readonly id: string; readonly text: string },
): LoopState {
  const { control } = state;
  return {
    ...state,
    questions: state.questions.filter((question) => question.id !== id),
    control: { ...control, guidance: [...control.guidance, guidance] },
  };
}

function answerKey({ id }: Question): string {
  return `answer:${id}`;
}

/** More than any agent needs, and few enough for a screen. */
const MAX_OPEN = 20;
