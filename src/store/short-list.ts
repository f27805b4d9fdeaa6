/** The first `max` names, and how many more there are: `a, b and 3 more`. */
export function shortList(names: readonly string[], max: number): string {
  const more = names.length > max ? ` and ${names.length - max} more` : '';
  return `${names.slice(0, max).join(', ')}${more}`;
}
