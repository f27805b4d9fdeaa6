import { startersEnvironment } from '../store/run-environment.ts';
import { surveyAgents } from '../views/survey.ts';
import { columns } from './columns.ts';
import { print } from './print.ts';

/** `ralph agents`: what there is an adapter for, what of it is installed, and how it is called. */
export async function agents(options: { readonly json?: boolean }): Promise<number> {
  const all = await surveyAgents(startersEnvironment(process.env), process.cwd());
  if (options.json === true) {
    print(`${JSON.stringify(all, null, 2)}\n`);
    return 0;
  }
  const rows = all.map(({ name, path, version, triedVersion, tells, calledAs, install }) => [
    name,
    path === null ? 'no' : (version ?? 'yes'),
    triedVersion,
    tells === 'cost' ? 'cost' : 'tokens',
    path === null ? `install it with: ${install}` : calledAs,
  ]);
  print(columns([['AGENT', 'INSTALLED', 'TRIED WITH', 'TELLS', 'CALLED AS'], ...rows]));
  print('\nAny other command works too: ralph run "…" -- COMMAND. The prompt comes on its standard input.\n');
  return 0;
}
