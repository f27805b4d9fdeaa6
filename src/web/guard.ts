/**
 * Which requests `ralph ui` answers: those of its own page, with its token.
 *
 * 1. The server has no cookie. A page on another port of 127.0.0.1, such as an agent's dev server, would get its cookies and could send
 *    them; it cannot send the token, which it does not know.
 * 2. Only its own name reaches it, so that no name of another site leads here.
 * 3. What has data or changes something needs the token. What has none (the page and its scripts) needs a request that the page itself
 *    makes, or a person's, who types its address.
 */
import { createHash, timingSafeEqual } from 'node:crypto';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly header: (name: string) => string | undefined;
}

export interface Own {
  /** `http://127.0.0.1:4747`. */
  readonly origin: string;
  readonly token: string;
  /** Where the file of `--open` leads, once; its request comes from a file, which counts as another site. */
  readonly handOver: string | null;
}

/** Why a request is refused; null if it is answered. */
export function refusalOf({ method, path, header }: Asked, { origin, token, handOver }: Own): string | null {
  const host = header('host') ?? '';
  if (`http://${host}` !== origin) return `the host must be ${origin.slice('http://'.length)}`;
  const site = header('sec-fetch-site') ?? 'unknown';
  if (method === 'GET') {
    const isShell = path === '/' && site === 'none';
    if (isShell || site === 'same-origin' || (handOver !== null && path === handOver)) return null;
    return `the request comes from elsewhere (${site}); open the address that was printed at the start`;
  }
  if (method !== 'POST') return 'the method must be GET or POST';
  if (site !== 'same-origin' || header('origin') !== origin) return 'the request comes from another page';
  if (header('content-type') !== 'application/json') return 'the content type must be application/json';
  if (!isSame(header('authorization') ?? '', `Bearer ${token}`))
    return 'the token is not the one of this start; open the address that was printed then';
  return null;
}

/** Takes as long wherever they differ. */
function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digest(one), digest(other));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** What the browser allows the page: its own files and this server, nothing else, and no HTML out of text. */
export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
