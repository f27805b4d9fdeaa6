/** A path as people write it: with `~` for the home folder. */
export function homely(path: string): string {
  const home = process.env['HOME'] ?? '';
  return home !== '' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
