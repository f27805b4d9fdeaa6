/** What pages say about a setting: whole sentences. */
import { type Row, zeroOf } from './rows.ts';

export function sentences(row: Row): string {
  const { says, more, alias } = row;
  const zero = zeroOf(row);
  const all = [
    `${says.slice(0, 1).toUpperCase()}${says.slice(1)}${zero === undefined ? '' : ` (0 = ${zero})`}.`,
    ...(more === undefined ? [] : [more]),
    ...(alias === undefined ? [] : [`Alias: \`${alias}\`.`]),
  ];
  // A page would take a tag for HTML.
  return all.join(' ').replaceAll(/<\w+>…<\/\w+>/g, '`$&`');
}
