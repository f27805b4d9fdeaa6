/**
 * The text of a prompt. A run has a plan of sections (data); the driver reads the inputs they need and `renderPrompt`
 * builds the text. Text from a person, a check or a file is inserted literally: nothing in it is a template, a pattern or
 * a shell word.
 */
import type { NearMiss } from './completion.ts';
import { excerpt, type CheckExcerpt, type Excerpt } from './excerpt.ts';
import { evidenceSection } from './evidence.ts';
import { describeNearMiss } from './claim.ts';
import { planSection, type PlanProbe } from './plan.ts';
import type { FailAction } from './policy.ts';
import { preamble, type PreambleInputs } from './preamble.ts';
import type { EvidenceFeedback } from './state.ts';

export function renderPrompt(plan: PromptPlan, inputs: PromptInputs): string {
  return plan.sections.reduce((text, section) => apply(section, text, inputs), '');
}

export interface PromptPlan {
  /** Applied in this order. */
  readonly sections: readonly Section[];
}

export type Section =
  /** The user's prompt. */
  | { readonly kind: 'base' }
  /** The user's prompt under a heading. */
  | { readonly kind: 'task' }
  /** How much of the plan is done, and its next open item. */
  | { readonly kind: 'plan'; readonly file: string; readonly plan: PlanProbe }
  /** The iteration, the checks that must pass and the completion word. */
  | {
      readonly kind: 'instructions';
      readonly iteration: number;
      readonly limit: number | null;
      readonly word: string;
      readonly checks: readonly string[];
    }
  /** How to claim. The tag is never alone on a line, so an echoed prompt is no claim. */
  | ({
      readonly kind: 'how-to-claim';
      readonly checks: readonly string[];
      readonly missed: NearMiss | null;
    } & ClaimWays)
  /** One failed check, before, after or in place of the text so far. */
  | ({
      readonly kind: 'failed-check';
      readonly action: FailAction;
    } & FailedOutput &
      Older)
  /** All failed checks under one heading; the baseline has its own heading. */
  | ({
      readonly kind: 'check-errors';
      readonly isBaseline: boolean;
      readonly failed: readonly FailedOutput[];
    } & Older)
  /** Files that the evidence rests on and that earlier runs changed. */
  | {
      readonly kind: 'evidence';
      readonly feedback: EvidenceFeedback;
      readonly tree: string;
      readonly rejects: boolean;
    }
  /** Why the last run failed; what that run printed on stderr follows, if the run is known. */
  | { readonly kind: 'execution-error'; readonly message: string; readonly run: string | null }
  /** Changes since the loop began. */
  | { readonly kind: 'diff'; readonly excerpt: Excerpt }
  /** The content of the progress file. */
  | { readonly kind: 'progress' }
  /** Messages on the bus. */
  | { readonly kind: 'messages' }
  /** Guidance from a person. */
  | { readonly kind: 'guidance'; readonly texts: readonly string[] }
  /** The last iterations made no progress. */
  | {
      readonly kind: 'nudge';
      readonly unchanged: number;
      readonly verdict: 'passing' | 'failing' | 'unchecked';
      readonly ways: ClaimWays | null;
    }
  /** The template for a continuing session; replaces the text so far, which becomes its task. */
  | {
      readonly kind: 'continuation';
      readonly template: string;
      readonly iteration: number;
      readonly limit: number | null;
      readonly promise: string;
    }
  /** Number of this iteration and of those left; always at the top of the prompt. */
  | { readonly kind: 'iteration-count'; readonly iteration: number; readonly limit: number | null }
  /** Tells the agent that the task was begun before; in front of the text so far. */
  | { readonly kind: 'restart-prefix' }
  /** The run's ids and folders, and how to use them; always at the top of the prompt. */
  | { readonly kind: 'preamble' }
  /** The request for a commit message; replaces the text so far. */
  | { readonly kind: 'commit-message' };

/** The ways to claim that the policy accepts. */
export interface ClaimWays {
  readonly tag: string | null;
  readonly word: string | null;
  readonly marker: string | null;
}

/** The iteration whose checks failed, 0 before the first one; absent if it is the previous one. */
interface Older {
  readonly from?: number;
}

interface FailedOutput {
  readonly index: number;
  readonly command: string;
  readonly hint: string | null;
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly flooded?: boolean;
  readonly log: string;
  readonly excerpt: CheckExcerpt;
}

/** What the driver reads for the plan; an empty text leaves out its section. */
export interface PromptInputs {
  readonly base: string;
  /** Whether `base` comes from a specification file. */
  readonly isSpecification: boolean;
  readonly diff: string;
  readonly progress: string;
  readonly messages: string;
  /** By index of the check; where `failures` are wanted, the driver has chosen them. */
  readonly checkOutput: Readonly<Record<number, string>>;
  /** The end of what the failed run printed on stderr. */
  readonly stderr?: string;
  /** The path of a check's log that the agent is shown, where it is not the log's own. */
  readonly checkLog?: Readonly<Record<number, string>>;
  readonly preamble?: PreambleInputs;
}

export const COMMIT_MESSAGE_REQUEST =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';

function apply(section: Section, text: string, inputs: PromptInputs): string {
  switch (section.kind) {
    case 'base':
      return append(text, inputs.base);
    case 'task':
      return append(text, `## Task${inputs.isSpecification ? ' Specification' : ''}\n\n${inputs.base}`);
    case 'plan':
      return append(text, planSection(section.file, section.plan));
    case 'instructions':
      return append(text, instructions(section));
    case 'how-to-claim':
      return append(text, howToClaim(section));
    case 'failed-check':
      return place(section.action, text, failedCheck(section, inputs));
    case 'check-errors': {
      const errors = section.failed.map((failed) => {
        const hint = failed.hint === null ? '' : `Hint: ${failed.hint}\n`;
        return `### ${failed.command}\n${hint}${errorOf(failed, inputs)}`;
      });
      return append(text, [checkErrorsHeading(section), ...errors].join('\n\n'));
    }
    case 'evidence':
      return append(text, evidenceSection(section.feedback, section.tree, section.rejects));
    case 'execution-error':
      return append(text, executionError(section, inputs));
    case 'diff':
      if (inputs.diff.trim() === '') return text;
      return append(
        text,
        `## Changes from Previous Iterations\n\n${fenced('diff', excerpt(inputs.diff, section.excerpt))}`,
      );
    case 'progress':
      return inputs.progress.trim() === ''
        ? text
        : append(text, `## Accumulated Progress\n\n${inputs.progress}`);
    case 'messages':
      return inputs.messages.trim() === ''
        ? text
        : append(text, `## Messages\n\n${MESSAGES}\n\n${inputs.messages}`);
    case 'guidance':
      return append(text, ['## Guidance from the operator', ...section.texts].join('\n\n'));
    case 'nudge':
      return append(text, nudge(section));
    case 'continuation':
      return continuation(section, text);
    case 'iteration-count':
      return prepend(text, iterationCount(section.iteration, section.limit));
    case 'restart-prefix':
      return prepend(text, 'Continue working on the following:');
    case 'preamble':
      return inputs.preamble === undefined ? text : prepend(text, preamble(inputs.preamble));
    case 'commit-message':
      return COMMIT_MESSAGE_REQUEST;
  }
}

const MESSAGES =
  'New messages on the message bus of this task, from people and agents. `ralph bus read` prints earlier ones too.';

function executionError(
  { message }: Extract<Section, { kind: 'execution-error' }>,
  { stderr = '' }: PromptInputs,
): string {
  const heading = `## Execution Error\n\n${fenced('', excerpt(message, EXECUTION_ERROR))}`;
  const printed = stderr.trim();
  // The message of many agents is their last line on stderr.
  return printed === '' || message.includes(printed)
    ? heading
    : `${heading}\n\nThe end of what the agent printed on stderr:\n\n${fenced('', excerpt(printed, STDERR))}`;
}

const EXECUTION_ERROR: Excerpt = { side: 'head', chars: 1000, marker: '' };
export const STDERR: Excerpt = { side: 'tail', chars: 2000, marker: '' };

function append(text: string, part: string): string {
  return text === '' ? part : `${text}\n\n${part}`;
}

function prepend(text: string, part: string): string {
  return `${part}\n\n${text}`;
}

function place(action: FailAction, text: string, part: string): string {
  switch (action) {
    case 'APPEND':
      return append(text, part);
    case 'PREPEND':
      return prepend(text, part);
    case 'REPLACE':
      return part;
  }
}

function checkErrorsHeading({ isBaseline, from }: Extract<Section, { kind: 'check-errors' }>): string {
  if (isBaseline) return `## Checks That Fail Already${from === undefined ? '' : `\n\n${NOT_RUN_SINCE}`}`;
  return from === undefined
    ? '## Errors from Previous Iteration'
    : `## Errors from Iteration ${from}\n\n${NOT_RUN_SINCE}`;
}

const NOT_RUN_SINCE = 'The checks have not run since then.';

/** The output of a failed check; of one that printed nothing, how it failed. */
function errorOf(failed: FailedOutput, inputs: PromptInputs): string {
  const output = outputOf(failed, inputs);
  if (output.trim() !== '') return fenced('', output);
  const how = failed.code === null ? howEnded(failed) : `it failed with exit code ${failed.code}`;
  return `It printed nothing: ${how}.`;
}

function failedCheck(section: Extract<Section, { kind: 'failed-check' }>, inputs: PromptInputs): string {
  const { index, command, code, hint, log, from } = section;
  return [
    code === null
      ? `Guardrail "${command}" failed: ${howEnded(section)}.`
      : `Guardrail "${command}" failed with exit code ${code}.`,
    ...(from === undefined ? [] : [fromText(from)]),
    ...(hint === null ? [] : [`Hint: ${hint}`]),
    `Output file: ${inputs.checkLog?.[index] ?? log}`,
    'Output (truncated):',
    outputOf(section, inputs),
  ].join('\n');
}

function fromText(iteration: number): string {
  return `This is from ${iteration === 0 ? 'before the first iteration' : `iteration ${iteration}`}. ${NOT_RUN_SINCE}`;
}

function howEnded({ timedOut, flooded }: FailedOutput): string {
  if (timedOut) return 'it timed out';
  return flooded === true ? 'it exceeded the output limit' : 'its exit code is unknown';
}

function outputOf(failed: FailedOutput, inputs: PromptInputs): string {
  const { side, ...cutAt } = failed.excerpt;
  return excerpt(inputs.checkOutput[failed.index] ?? '', {
    ...cutAt,
    side: side === 'failures' ? 'tail' : side,
  });
}

function instructions({
  iteration,
  limit,
  word,
  checks,
}: Extract<Section, { kind: 'instructions' }>): string {
  const count = limit === null ? `${iteration}` : `${iteration}/${limit}`;
  return [
    '## Iteration Instructions',
    '',
    `This is **iteration ${count}** of an automatic correction loop.`,
    ...(word === '' ? [] : [`When everything is done, include the word \`${word}\` in your final response.`]),
    '',
    '**Checks your code must pass:**',
    ...checks.map((check) => `- \`${check}\``),
  ].join('\n');
}

function howToClaim({ checks, missed, ...ways }: Extract<Section, { kind: 'how-to-claim' }>): string {
  const verified =
    checks.length === 0
      ? 'No automatic check verifies it, so verify the work yourself before you claim it.'
      : `Your claim is then verified by running: ${checks.map((check) => `\`${check}\``).join(', ')}.`;
  return [
    '## When you are done',
    '',
    `Only when the whole task is done, ${waysToClaim(ways)}. ${verified}`,
    'If work is left, do not claim to be done: you will be started again with a fresh context.',
    ...(missed === null ? [] : ['', `${describeNearMiss('The previous run', missed)}. ${EXACT_FORM}`]),
  ].join('\n');
}

const EXACT_FORM =
  'A claim is a line of your last message with the tag and nothing else on it: no list marker, no quotation marks, no backticks, no code block.';

function waysToClaim({ tag, word, marker }: ClaimWays): string {
  return [
    ...(tag === null
      ? []
      : [`finish your last message with a line that contains only ${tag}, no quotes around it`]),
    ...(word === null ? [] : [`include the word ${word} in your last message`]),
    ...(marker === null ? [] : [`create the file named by the environment variable RALPH_DONE_FILE`]),
  ].join(', or ');
}

function nudge({ unchanged, verdict, ways }: Extract<Section, { kind: 'nudge' }>): string {
  const advice =
    verdict === 'failing' || ways === null
      ? 'Do not repeat the previous attempts: find out what blocks you and take another approach.'
      : `${verdict === 'passing' ? 'Every check passes' : 'There are no checks'}. If the whole task is done, claim it now: ${waysToClaim(ways)}. If work is left, do the next part of it now.`;
  return [
    '## No progress',
    '',
    `The last ${unchanged === 1 ? 'iteration' : `${unchanged} iterations`} made no progress: the files and the check results were the same as after an earlier iteration.`,
    advice,
  ].join('\n');
}

function iterationCount(iteration: number, limit: number | null): string {
  return limit === null
    ? `Iteration ${iteration}.`
    : `Iteration ${iteration} of ${limit}, ${limit - iteration} remaining.`;
}

/** Replaces the first occurrence of each placeholder; placeholders in the inserted text stay as they are. */
function continuation(section: Extract<Section, { kind: 'continuation' }>, task: string): string {
  const left = new Map([
    ['{{ITERATION}}', String(section.iteration)],
    ['{{MAX}}', section.limit === null ? '∞' : String(section.limit)],
    ['{{PROMISE}}', section.promise],
    ['{{PROMPT}}', task],
  ]);
  return section.template.replaceAll(/\{\{(?:ITERATION|MAX|PROMISE|PROMPT)\}\}/g, (name) => {
    const value = left.get(name) ?? name;
    left.delete(name);
    return value;
  });
}

/** Uses a fence longer than any in the text, so that the text cannot close it. */
function fenced(language: string, text: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((max, run) => Math.max(max, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
