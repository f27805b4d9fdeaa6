import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The record of a child that another program has started. */
export function recordOf(pgid: number): string {
  return `run_id: x\nparent_run_id: p\npgid: ${pgid}\nend_time: 0001-01-01T00:00:00Z\nexit_code: 0\nstatus: running\n`;
}

/** Records runs in the workspace folder of a loop that does not exist yet, and says that its task is done. */
export function recordRuns(workspaceFolder: string, records: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(records)) {
    mkdirSync(join(workspaceFolder, 'runs', name), { recursive: true });
    writeFileSync(join(workspaceFolder, 'runs', name, 'run-info.yaml'), text);
  }
  mkdirSync(workspaceFolder, { recursive: true });
  writeFileSync(join(workspaceFolder, 'DONE'), '');
}
