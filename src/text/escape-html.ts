import { sanitize } from './terminal.ts';

/** A text as it looks, in HTML or in the value of an attribute. Invisible characters are named before, as on a terminal. */
export function escapeHtml(text: string): string {
  return sanitize(text, false)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}
