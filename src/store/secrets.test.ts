import { describe, expect, it } from 'vitest';
import { hideKeys, hideLikelyKeys, REDACTED } from './secrets.ts';

const KEY = `sk-${'a1b2'.repeat(6)}`;

describe('masking secrets', () => {
  it.each([
    [`const key = "${KEY}";`, `const key = "${REDACTED}";`],
    ['+API_KEY=abc123def456', `+API_KEY=${REDACTED}`],
    ['"password": "hunter2hunter2",', `"password": "${REDACTED}",`],
    ['client-secret: 0f9e8d7c6b5a', `client-secret: ${REDACTED}`],
    ['Authorization: Bearer abcdefgh12345678', `Authorization: ${REDACTED}`],
  ])('masks a key in code and prose: %s', (text, hidden) => {
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
  ])('keeps code and prose without a key: %s', (text) => {
    expect(hideLikelyKeys(text)).toBe(text);
  });

  it('masks the word after a secret flag only in a command line', () => {
    expect(hideKeys('--token abcdefgh')).toBe(`--token ${REDACTED}`);
    expect(hideLikelyKeys('a token abcdefgh')).toBe('a token abcdefgh');
  });
});
