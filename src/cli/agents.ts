import { agentsHere } from '../loops/machine.ts';
import { agentTable } from '../text/list.ts';
import { print, printColumns, printJson } from './print.ts';

/** `ralph agents`: lists the supported agents, their installed version and their command line. */
export async function agents(options: { readonly json?: boolean }): Promise<number> {
  const all = await agentsHere(process.cwd());
  if (options.json === true) {
    printJson(all, 2);
    return 0;
  }
  printColumns(agentTable(all));
  print('\nAny other command that reads the prompt from stdin works too:\n  ralph run "…" -- COMMAND\n');
  return 0;
}
