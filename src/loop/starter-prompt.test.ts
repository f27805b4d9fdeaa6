import { expect, it } from 'vitest';
import { isStarterPrompt, STARTER_PROMPT } from './starter-prompt.ts';

it('is the starter prompt with other blanks and line ends, and no other text', () => {
  expect(isStarterPrompt(STARTER_PROMPT)).toBe(true);
  expect(isStarterPrompt(`\n${STARTER_PROMPT.replaceAll('\n', '\r\n')}  `)).toBe(true);
  expect(isStarterPrompt(`${STARTER_PROMPT}- begin with the parser`)).toBe(false);
  expect(isStarterPrompt('')).toBe(false);
});
