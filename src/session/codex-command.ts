/** What a person has typed for Ralph in Codex: the command and the text after it. */
export interface CodexCommand {
  readonly name: 'ralph' | 'cancel-ralph' | 'ralph-status';
  readonly args: string;
}

/**
 * The command at the beginning of a message; null for any other message. Codex has no commands of plugins: a person mentions
 * the skill (`$ralph`, which completes to `$ralph:ralph`), or types a blank before `/ralph`.
 */
export function codexCommand(message: string): CodexCommand | null {
  const [whole, name] = COMMAND.exec(message) ?? [];
  if (whole === undefined || !isName(name)) return null;
  return { name, args: message.slice(whole.length).trim() };
}

const COMMAND = /^\s*[/$](?:ralph:)?(ralph|cancel-ralph|ralph-status)(?!\S)/;

function isName(text: string | undefined): text is CodexCommand['name'] {
  return text !== undefined;
}
