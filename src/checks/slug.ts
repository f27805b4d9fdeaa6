/** The name of a check's log: letters and digits of its command, and a number where two would be the same. */
export function checkSlug(commands: readonly string[], index: number): string {
  const taken = new Set<string>();
  let name = '';
  for (const command of commands.slice(0, index + 1)) {
    const own = slug(command);
    name = own;
    // Some file systems do not tell upper from lower case.
    for (let number = 1; taken.has(name.toLowerCase()); number++) name = `${own}_${number}`;
    taken.add(name.toLowerCase());
  }
  return name;
}

function slug(command: string): string {
  const words = command.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return words.slice(0, 50) || 'check';
}
