/** A text that is too long to be shown, with its beginning and its end: the last words of an agent matter as much as the first. */
export function withoutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  return `${text.slice(0, half)}\n… ${text.length - 2 * half} more characters …\n${text.slice(text.length - half)}`;
}
