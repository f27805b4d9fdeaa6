import { sizeText } from '../loop/counted.ts';
import type { Setting } from '../settings/effective.ts';

/** The table of `ralph config`; the ways to claim completion that are off for the same reason share a row. */
export function settingsTable(settings: readonly Setting[]): readonly (readonly string[])[] {
  const seen = new Set<string>();
  const rows = settings.flatMap((setting) => {
    const { key, value } = setting;
    const from = fromOf(setting);
    if (!isOff(setting)) return [[key, shown(key, value), from]];
    if (seen.has(from)) return [];
    seen.add(from);
    const keys = settings.filter((one) => isOff(one) && fromOf(one) === from).map((one) => one.key);
    return [keys.length === 1 ? [key, '-', from] : ['completion', `off: ${keys.join(', ')}`, from]];
  });
  return [['SETTING', 'VALUE', 'FROM'], ...rows];
}

function isOff({ key, value }: Setting): boolean {
  return value === null && COMPLETION.has(key);
}

function fromOf({ place, origin }: Setting): string {
  return place ?? origin;
}

/** What completes a loop. */
const COMPLETION: ReadonlySet<string> = new Set([
  'completionResponse',
  'completionPromise',
  'completionTag',
  'donePattern',
  'doneFile',
]);

/** Settings in bytes. */
const SIZES: ReadonlySet<string> = new Set(['maxOutput', 'checkpointMaxFile', 'checkpointMaxTotal']);

function shown(key: string, value: unknown): string {
  if (value === null) return '-';
  if (typeof value === 'number' && SIZES.has(key)) return sizeText(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}
