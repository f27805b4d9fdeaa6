/**
 * What a message asks for that starts a loop, in the form of the arguments of `/ralph`; null for any other message. A command
 * counts only at the beginning; `ralph mode` and `ralph loop` count anywhere, and then the whole message is the task.
 */
export function findTrigger(message: string): string | null {
  const text = message.trim();
  const command = /^\/(?:ralph|loop|autonomous)\s+/i.exec(text);
  if (command !== null) return text.slice(command[0].length);
  if (!/\bralph (?:mode|loop)\b/i.test(text)) return null;
  // In quotes, so that no part of it is taken for an option.
  return `"${text.replaceAll('"', () => String.raw`\"`)}"`;
}
