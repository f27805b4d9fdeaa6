/** The name of a check's log: letters and digits of its command, and a number where two would be the same. */
export function checkSlug(commands: readonly string[], index: number): string {
  const own = slug(commands[index] ?? '');
  const before = commands.slice(0, index).filter((command) => slug(command) === own).length;
  return before === 0 ? own : `${own}_${before}`;
}

function slug(command: string): string {
  const words = command.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return words.slice(0, 50) || 'check';
}
