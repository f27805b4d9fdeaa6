import { closest } from '../settings/closest.ts';
import { UserError } from '../user-error.ts';

/** A mistyped limit would be ignored silently, so an unknown option is an error. */
export function rejectUnknown(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw new UserError(
      `options must be an object, got ${options === undefined ? 'undefined' : JSON.stringify(options)}`,
    );
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  const near = closest(unknown, known);
  throw new UserError(`unknown option ${unknown}${near === null ? '' : ` (did you mean ${near}?)`}`);
}
