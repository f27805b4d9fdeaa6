import { describe, expect, it } from 'vitest';
import { hideKeys, hideLikelyKeys, REDACTED } from './secrets.ts';

const KEY = `sk-${'a1b2'.repeat(6)}`;

describe('what an agent has to work with', () => {
  it.each([
    [`const key = "${KEY}";`, `const key = "${REDACTED}";`],
    ['+API_KEY=abc123def456', `+API_KEY=${REDACTED}`],
    ['"password": "hunter2hunter2",', `"password": "${REDACTED}",`],
    ['client-secret: 0f9e8d7c6b5a', `client-secret: ${REDACTED}`],
    ['Authorization: Bearer abcdefgh12345678', `Authorization: ${REDACTED}`],
  ])('goes without keys: %s', (text, hidden) => {
    expect(hideLikelyKeys(text)).toBe(hidden);
  });

  it.each([
    "SyntaxError: Unexpected token 'export'",
    'function login(password: string, token: AccessToken)',
    'const token = generate_v2(input);',
    'apiKey: process.env.API_KEY_2,',
    'const secret = secrets[index2];',
    'max_tokens: 4096, token_count = 12345678',
    'the next token is identifier12',
  ])('keeps its words: %s', (text) => {
    expect(hideLikelyKeys(text)).toBe(text);
  });

  it('is not shown as a command line is, where every word behind a flag may be a secret', () => {
    expect(hideKeys('--token abcdefgh')).toBe(`--token ${REDACTED}`);
    expect(hideLikelyKeys('a token abcdefgh')).toBe('a token abcdefgh');
  });
});
