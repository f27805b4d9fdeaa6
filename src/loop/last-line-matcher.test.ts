import { describe, expect, it } from 'vitest';
import { lastLineTag } from './last-line-matcher.ts';

const TAG = '<promise>DONE</promise>';
/** Whole, and cut everywhere. */
const isFound = (text: string): boolean => {
  const whole = lastLineTag('promise', 'DONE').read(text);
  let cut = lastLineTag('promise', 'DONE');
  for (const character of text) cut = cut.read(character);
  expect(cut.found(true)).toBe(whole.found(true));
  expect(cut.missed?.() ?? null).toBe(whole.missed?.() ?? null);
  expect(whole.found(false)).toBeNull();
  return whole.found(true) !== null;
};

describe('a tag on the last line', () => {
  it.each([
    TAG,
    `All tests pass.\n${TAG}`,
    `Done.\n\n  ${TAG}  \n\n\n`,
    `${TAG}\n\n${TAG}`,
    `\`\`\`\ncode\n\`\`\`\n${TAG}`,
  ])('S5.60 is a claim: %j', (text) => {
    expect(isFound(text)).toBe(true);
  });

  it.each([
    `${TAG}\nOne thing is left.`,
    `${TAG}\n\nOne thing is left.\n`,
    `I will say ${TAG}`,
    `\`\`\`\n${TAG}\n\`\`\``,
    `\`\`\`\n${TAG}`,
    `> ${TAG}`,
    `${TAG}\n\`\`\`\n${TAG}\n\`\`\``,
    '',
  ])('S5.60 is no claim with text after it, in text, code or quotation: %j', (text) => {
    expect(isFound(text)).toBe(false);
  });

  it('says that later text took the claim back', () => {
    expect(lastLineTag('promise', 'DONE').read(`${TAG}\nOne thing is left.`).missed?.()).toBe('text');
    expect(lastLineTag('promise', 'DONE').read(`${TAG}\n`).missed?.()).toBeNull();
    expect(lastLineTag('promise', 'DONE').read('Nothing.\n').missed?.()).toBeNull();
  });
});
