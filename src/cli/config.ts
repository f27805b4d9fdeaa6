import { effective, provenance, type Setting } from '../config/effective.ts';
import { isForOtherAgent } from '../owner/choose-agent.ts';
import { readSettings, type SettingsFiles } from '../config/read.ts';
import { withoutSecrets } from '../loop/secrets.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { wrap } from '../text/columns.ts';
import { trustOf } from '../store/trust-of.ts';
import { trustSentence } from '../text/trust.ts';
import { flagSettings, type RunOptions } from './options.ts';
import { print, printColumns, printJson, terminalWidth, warn } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph config`: prints the settings in effect, and where each comes from. */
export async function config(options: RunOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const flags = flagSettings(options);
  const read = await readSettings(workspace);
  const isOther = isForOtherAgent(read.merged.agent ?? {}, flags.agent?.name ?? null);
  const files = isOther ? withoutAgent(read) : read;
  const env = startersEnvironment(process.env);
  const settings = provenance(files, effective(files, flags, workspace)).map(
    ({ key, value, origin, place }): Setting => ({ key, value: withoutSecrets(value, env), origin, place }),
  );
  const trust = trustOf(read, workspace);
  const sentence = trustSentence(trust);
  if (options.json === true) {
    // The JSON has settings only.
    if (!trust.isTrusted && sentence !== null) warn(`note: ${sentence}\n`);
    const entries = settings.map(({ key, value, origin, place }) => [key, { value, origin, place }]);
    printJson(Object.fromEntries(entries), 2);
    return 0;
  }
  const rows = settings.map(({ key, value, origin, place }) => [key, shown(value), place ?? origin]);
  printColumns([['SETTING', 'VALUE', 'FROM'], ...rows]);
  if (sentence !== null) print(`\n${wrap(sentence, terminalWidth()).join('\n')}\n`);
  return 0;
}

function describesAgent(key: string): boolean {
  return /^agent\.(?!env\.)/.test(key);
}

/** Drops the settings of another agent than the one that was chosen. */
function withoutAgent(files: SettingsFiles): SettingsFiles {
  const { merged } = files;
  return {
    ...files,
    merged: { ...merged, agent: { env: merged.agent?.env } },
    origin: (key) => (describesAgent(key) ? null : files.origin(key)),
    place: (key) => (describesAgent(key) ? null : files.place(key)),
  };
}

function shown(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
