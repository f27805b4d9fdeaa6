/**
 * The words that an agent gets. A run carries a plan of sections (data); the driver gathers what they need from
 * the world and `renderPrompt` puts the text together. Whatever a person, a check or a file says is inserted
 * literally: nothing in it is a template, a pattern or a shell word.
 */
import { excerpt, type Excerpt } from './excerpt.ts';
import type { FailAction } from './policy.ts';

/** The text of a prompt. */
export function renderPrompt(plan: PromptPlan, inputs: PromptInputs): string {
  return plan.sections.reduce((text, section) => apply(section, text, inputs), '');
}

export interface PromptPlan {
  /** Applied in this order. */
  readonly sections: readonly Section[];
}

export type Section =
  /** The user's own words. */
  | { readonly kind: 'base' }
  /** The user's own words under a heading. */
  | { readonly kind: 'task' }
  /** Which iteration this is, what must pass and which word says that it is done. */
  | {
      readonly kind: 'instructions';
      readonly iteration: number;
      readonly limit: number | null;
      readonly word: string;
      readonly checks: readonly string[];
    }
  /** How to claim, without ever showing the tag on a line of its own. */
  | {
      readonly kind: 'how-to-claim';
      readonly tag: string | null;
      readonly word: string | null;
      readonly marker: string | null;
      readonly checks: readonly string[];
    }
  /** One check that failed, put before, behind or in place of all there is so far. */
  | ({
      readonly kind: 'failed-check';
      readonly action: FailAction;
    } & FailedOutput)
  /** All checks that failed, under one heading; before the first iteration they are nobody's errors. */
  | {
      readonly kind: 'check-errors';
      readonly isBaseline: boolean;
      readonly failed: readonly FailedOutput[];
    }
  /** Why the last run came to nothing. */
  | { readonly kind: 'execution-error'; readonly message: string }
  /** What was changed since the loop began. */
  | { readonly kind: 'diff'; readonly excerpt: Excerpt }
  /** The loop's own account so far. */
  | { readonly kind: 'progress' }
  /** What others posted on the bus. */
  | { readonly kind: 'messages' }
  /** What a person told the loop meanwhile. */
  | { readonly kind: 'guidance'; readonly texts: readonly string[] }
  /** Nothing has changed for a while. */
  | { readonly kind: 'nudge'; readonly unchanged: number }
  /** The template for a session that goes on; takes the place of all there is so far, which becomes its task. */
  | {
      readonly kind: 'continuation';
      readonly template: string;
      readonly iteration: number;
      readonly limit: number | null;
      readonly promise: string;
    }
  /** Outermost: how many iterations there are and are left. */
  | { readonly kind: 'iteration-count'; readonly iteration: number; readonly limit: number | null }
  /** The request for a commit message, all by itself. */
  | { readonly kind: 'commit-message' };

interface FailedOutput {
  readonly index: number;
  readonly command: string;
  readonly hint: string | null;
  readonly code: number | null;
  readonly timedOut: boolean;
  readonly log: string;
  readonly excerpt: Excerpt;
}

/** What the driver gathers; an empty text leaves its section out. */
export interface PromptInputs {
  readonly base: string;
  /** The base is a specification file and not the task's own text. */
  readonly isSpecification: boolean;
  readonly diff: string;
  readonly progress: string;
  readonly messages: string;
  /** By the check's index. */
  readonly checkOutput: Readonly<Record<number, string>>;
  /** Another name of a check's log, for the agent. */
  readonly checkLog?: Readonly<Record<number, string>>;
}

export const COMMIT_MESSAGE_REQUEST =
  'Provide a short imperative commit message for the changes. Output only the message, no explanation.';

function apply(section: Section, text: string, inputs: PromptInputs): string {
  switch (section.kind) {
    case 'base':
      return append(text, inputs.base);
    case 'task':
      return append(text, `## Task${inputs.isSpecification ? ' Specification' : ''}\n\n${inputs.base}`);
    case 'instructions':
      return append(text, instructions(section));
    case 'how-to-claim':
      return append(text, howToClaim(section));
    case 'failed-check':
      return place(section.action, text, failedCheck(section, inputs));
    case 'check-errors': {
      const errors = section.failed.map((failed) => {
        const hint = failed.hint === null ? '' : `Hint: ${failed.hint}\n`;
        return `### ${failed.command}\n${hint}${fenced('', outputOf(failed, inputs))}`;
      });
      const heading = section.isBaseline
        ? '## Checks That Fail Already'
        : '## Errors from Previous Iteration';
      return append(text, [heading, ...errors].join('\n\n'));
    }
    case 'execution-error':
      return append(text, `## Execution Error\n\n${fenced('', excerpt(section.message, EXECUTION_ERROR))}`);
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
      return inputs.messages.trim() === '' ? text : append(text, `## Messages\n\n${inputs.messages}`);
    case 'guidance':
      return append(text, ['## Guidance from the operator', ...section.texts].join('\n\n'));
    case 'nudge':
      return append(text, nudge(section.unchanged));
    case 'continuation':
      return continuation(section, text);
    case 'iteration-count':
      return prepend(text, iterationCount(section.iteration, section.limit));
    case 'commit-message':
      return COMMIT_MESSAGE_REQUEST;
  }
}

const EXECUTION_ERROR: Excerpt = { side: 'head', chars: 1000, marker: '' };

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

function failedCheck(section: Extract<Section, { kind: 'failed-check' }>, inputs: PromptInputs): string {
  const { index, command, code, timedOut, hint, log } = section;
  return [
    code === null
      ? `Guardrail "${command}" failed: ${timedOut ? 'it timed out' : 'it was ended, and nobody saw its exit code'}.`
      : `Guardrail "${command}" failed with exit code ${code}.`,
    ...(hint === null ? [] : [`Hint: ${hint}`]),
    `Output file: ${inputs.checkLog?.[index] ?? log}`,
    'Output (truncated):',
    outputOf(section, inputs),
  ].join('\n');
}

function outputOf(failed: FailedOutput, inputs: PromptInputs): string {
  return excerpt(inputs.checkOutput[failed.index] ?? '', failed.excerpt);
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

function howToClaim({ tag, word, marker, checks }: Extract<Section, { kind: 'how-to-claim' }>): string {
  const ways = [
    ...(tag === null
      ? []
      : [`finish your last message with a line that contains only ${tag}, no quotes around it`]),
    ...(word === null ? [] : [`say the word ${word} in your last message`]),
    ...(marker === null ? [] : [`create the file named by the environment variable RALPH_DONE_FILE`]),
  ];
  const verified =
    checks.length === 0
      ? 'Nobody checks it but you, so look again before you say so.'
      : `Your word is then checked by running: ${checks.map((check) => `\`${check}\``).join(', ')}.`;
  return [
    '## When you are done',
    '',
    `Only when the whole task is done, ${ways.join(', or ')}. ${verified}`,
    'If something is left to do, do not claim it: you will be started again with a fresh context.',
  ].join('\n');
}

function nudge(unchanged: number): string {
  return [
    '## Nothing has changed',
    '',
    `The last ${unchanged} iterations left the repository exactly as it was.`,
    'Do not repeat what was tried: find out what is in the way and take another approach.',
  ].join('\n');
}

function iterationCount(iteration: number, limit: number | null): string {
  return limit === null
    ? `Iteration ${iteration}.`
    : `Iteration ${iteration} of ${limit}, ${limit - iteration} remaining.`;
}

/** Each placeholder once, where it first stands in the template; what is put in is not looked at again. */
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

/** A fence longer than any in the text, so that the text cannot get out of it. */
function fenced(language: string, text: string): string {
  const longest = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
