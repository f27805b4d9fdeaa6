/** With escapes for what is not ASCII, in code or in JSON. */
export function inPlainText(text) {
  return text.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
