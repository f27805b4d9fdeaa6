import { effective, provenance, type Setting } from '../config/effective.ts';
import { readSettings } from '../config/read.ts';
import { startersEnvironment } from '../compose/run-environment.ts';
import { withoutSecrets } from '../compose/secrets.ts';
import { columns } from './columns.ts';
import { flagSettings, type RunOptions } from './options.ts';
import { print } from './print.ts';
import { workspaceOf } from './workspace.ts';

/** `ralph config`: what holds here, and where each value comes from. */
export async function config(options: RunOptions): Promise<number> {
  const workspace = workspaceOf(options);
  const flags = flagSettings(options);
  const files = await readSettings(workspace);
  const env = startersEnvironment(process.env);
  const settings = provenance(files, flags, effective(files, flags, workspace)).map(
    ({ key, value, origin, place }): Setting => ({ key, value: withoutSecrets(value, env), origin, place }),
  );
  if (options.json === true) {
    const entries = settings.map(({ key, value, origin, place }) => [key, { value, origin, place }]);
    print(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`);
    return 0;
  }
  const rows = settings.map(({ key, value, origin, place }) => [key, shown(value), place ?? origin]);
  print(columns([['SETTING', 'VALUE', 'FROM'], ...rows]));
  return 0;
}

function shown(value: unknown): string {
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
