/** The detectors of document 004 as functions. The loops of the hook do not use them: there the core decides. */
import { lastLineTag } from '../../loop/last-line-matcher.ts';
import { renderPrompt } from '../../loop/prompt.ts';
import { tagPattern } from '../../loop/tag-matcher.ts';
import { readTranscript } from './transcript.ts';
import type { HookMessage } from './types.ts';
import type { RalphLoopState } from '../session-file.ts';

export interface DetectorOptions {
  /** The tag must be on the last line that is not blank, outside of code and quotation. */
  readonly strict?: boolean;
}

/** Whether a text contains `<promise>`, the promise and `</promise>`, in any case. */
export function detectCompletionPromise(
  text: string,
  promise: string,
  { strict = false }: DetectorOptions = {},
): boolean {
  if (strict) return lastLineTag(TAG, promise).read(text).found(true) !== null;
  return tagPattern(TAG, promise).test(text);
}

const TAG = 'promise';

/** The same for a transcript: what the assistant said and what tools printed, or all of a file without JSON lines. */
export function detectInTranscript(
  path: string | undefined,
  promise: string,
  options: DetectorOptions = {},
): boolean {
  const transcript = path === undefined ? null : readTranscript(path);
  if (transcript === null) return false;
  const { messages, text } = transcript;
  if (messages === null) return detectCompletionPromise(text, promise, options);
  return messages.some(
    ({ role, content = '' }) =>
      (role === 'assistant' || role === 'tool') && detectCompletionPromise(content, promise, options),
  );
}

/** Whether the assistant keeps the promise in one of its messages, the newest first. */
export async function detectInMessages(
  messages: readonly HookMessage[],
  promise: string,
  options: DetectorOptions = {},
): Promise<boolean> {
  return messages
    .toReversed()
    .some(
      ({ role, content }) =>
        role === 'assistant' &&
        typeof content === 'string' &&
        detectCompletionPromise(content, promise, options),
    );
}

/** Fills in the first `{{ITERATION}}`, `{{MAX}}`, `{{PROMISE}}` and `{{PROMPT}}` of a template; all texts are inserted literally. */
export function buildContinuationPrompt(template: string, state: RalphLoopState): string {
  const { iteration, maxIterations: limit, completionPromise: promise, prompt: base } = state;
  return renderPrompt(
    { sections: [{ kind: 'base' }, { kind: 'continuation', template, iteration, limit, promise }] },
    { base, isSpecification: false, diff: '', progress: '', messages: '', checkOutput: {} },
  );
}
