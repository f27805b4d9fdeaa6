import { settingsInEffect } from '../loops/settings.ts';
import { wrap } from '../text/columns.ts';
import { settingsTable } from '../text/settings.ts';
import { trustSentence } from '../text/trust.ts';
import { flagSettings, type RunOptions } from './options.ts';
import { print, printColumns, printJson, terminalWidth, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph config`: prints the settings in effect, and where each comes from. */
export async function config(options: RunOptions): Promise<number> {
  const { settings, trust } = await settingsInEffect(workspaceOf(options), flagSettings(options));
  const sentence = trustSentence(trust);
  if (options.json === true) {
    // The JSON has settings only.
    if (!trust.isTrusted && sentence !== null) warn(`note: ${sentence}\n`);
    const entries = settings.map(({ key, value, origin, place }) => [key, { value, origin, place }]);
    printJson(Object.fromEntries(entries), 2);
    return 0;
  }
  printColumns(settingsTable(settings));
  if (sentence !== null) print(`\n${wrap(sentence, terminalWidth()).join('\n')}\n`);
  return 0;
}
