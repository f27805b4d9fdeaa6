const NO_PROMISE =
  'Your previous attempt did not output the completion promise. Continue working on the task.';

/** The prompt that document 004 sends into a continuing session. */
export const CONTINUATION_TEMPLATE: string = [
  '[RALPH LOOP - ITERATION {{ITERATION}}/{{MAX}}]',
  '',
  NO_PROMISE,
  '',
  'IMPORTANT:',
  '- Review your progress so far',
  '- Continue from where you left off  ',
  '- When FULLY complete, output: <promise>{{PROMISE}}</promise>',
  '- Do not stop until the task is truly done',
  '',
  'Original task:',
  '{{PROMPT}}',
].join('\n');

/** The template after a promise that checks have contradicted: the agent must not be told that it made none. */
export function afterRejection(template: string): string {
  return template.replace(NO_PROMISE, () => REJECTED);
}

const REJECTED = 'Your promise was rejected, because a check failed. Continue working on the task.';
