import { describe, expect, it } from 'vitest';
import { type Asked, refusalOf } from './guard.ts';

const OWN = { origin: 'http://127.0.0.1:4747', token: 'secret', handOver: '/open/once' };
const PAGE = { host: '127.0.0.1:4747', 'sec-fetch-site': 'same-origin' };
const SENT = {
  ...PAGE,
  origin: OWN.origin,
  'content-type': 'application/json',
  authorization: 'Bearer secret',
};

function asked(method: string, path: string, headers: Readonly<Record<string, string>>): Asked {
  return { method, path, header: (name) => headers[name] };
}

describe('a request', () => {
  it.each([
    ['of the page for its script', asked('GET', '/assets/index.js', PAGE)],
    ['of a person for the page', asked('GET', '/', { ...PAGE, 'sec-fetch-site': 'none' })],
    ['of the file of --open', asked('GET', '/open/once', { ...PAGE, 'sec-fetch-site': 'cross-site' })],
    ['of the page for data', asked('POST', '/api', SENT)],
  ])('%s is answered', (_, request) => {
    expect(refusalOf(request, OWN)).toBeNull();
  });

  it.each([
    [
      'another host',
      asked('POST', '/api', { ...SENT, host: 'evil.example:4747' }),
      'the host must be 127.0.0.1:4747',
    ],
    ['no host', asked('GET', '/', { 'sec-fetch-site': 'none' }), 'the host must be'],
    [
      'another site, for the page',
      asked('GET', '/', { ...PAGE, 'sec-fetch-site': 'cross-site' }),
      'comes from elsewhere',
    ],
    [
      'a person, for a file',
      asked('GET', '/assets/index.js', { ...PAGE, 'sec-fetch-site': 'none' }),
      'comes from elsewhere',
    ],
    [
      'another path of --open',
      asked('GET', '/open/other', { ...PAGE, 'sec-fetch-site': 'cross-site' }),
      'comes from elsewhere',
    ],
    ['another method', asked('PUT', '/api', SENT), 'the method must be GET or POST'],
    [
      'another port',
      asked('POST', '/api', { ...SENT, origin: 'http://127.0.0.1:8080' }),
      'comes from another page',
    ],
    ['a form', asked('POST', '/api', { ...SENT, 'content-type': 'text/plain' }), 'must be application/json'],
    [
      'another token',
      asked('POST', '/api', { ...SENT, authorization: 'Bearer other' }),
      'the token is not the one',
    ],
    ['no token', asked('POST', '/api', { ...SENT, authorization: '' }), 'the token is not the one'],
  ])('with %s is refused', (_, request, why) => {
    expect(refusalOf(request, OWN)).toContain(why);
  });

  it('does not reach the path of --open a second time', () => {
    const again = asked('GET', '/open/once', { ...PAGE, 'sec-fetch-site': 'cross-site' });
    expect(refusalOf(again, { ...OWN, handOver: null })).toContain('comes from elsewhere');
  });
});
