import { realpathSync } from 'node:fs';
import { readSettings } from '../settings/read.ts';
import { UserError } from '../user-error.ts';
import { EXAMINED, examineMachine, type Finding } from '../loops/machine.ts';
import { wrap } from '../text/columns.ts';
import { trustOf } from '../settings/trust-of.ts';
import { trustSentence } from '../text/trust.ts';
import { painter } from './line-options.ts';
import { print, printJson, terminalWidth } from './print.ts';

/** `ralph doctor`: exits 1 if it finds a problem that prevents every loop from working. */
export async function doctor(options: { readonly json?: boolean }): Promise<number> {
  const found: Finding[] = [];
  for await (const finding of findings(process.cwd())) {
    found.push(finding);
    if (options.json !== true) show(finding);
  }
  if (options.json === true) printJson(found, 2);
  return found.some(({ state }) => state === 'bad') ? 1 : 0;
}

async function* findings(cwd: string): AsyncGenerator<Finding, void, void> {
  yield* examineMachine(cwd);
  yield* await examineSettings(cwd);
}

const WIDTH = Math.max(...EXAMINED.map((what) => what.length));
const INDENT = ' '.repeat('[ERR] '.length + WIDTH + 2);

function show({ what, state, detail, remedy }: Finding): void {
  const [first = '', ...others] = wrap(detail, terminalWidth() - INDENT.length);
  print(`${MARKS[state]()} ${what.padEnd(WIDTH)}  ${first}\n`);
  for (const line of others) print(`${INDENT}${line}\n`);
  if (remedy === null) return;
  const [head = '', ...rest] = wrap(remedy, terminalWidth() - INDENT.length - 2);
  for (const line of [`→ ${head}`, ...rest.map((one) => `  ${one}`)]) print(`${INDENT}${line}\n`);
}

/** Whether the settings of the workspace can be read and are trusted. */
async function examineSettings(cwd: string): Promise<readonly Finding[]> {
  const what = 'settings';
  try {
    const workspace = realpathSync(cwd);
    const trust = trustOf(await readSettings(workspace), workspace);
    const detail = trustSentence(trust);
    if (detail === null) return [];
    if (trust.open.length === 0) return [{ what, state: 'ok', detail, remedy: null }];
    return [
      { what, state: 'warning', detail, remedy: 'review and trust them: ralph trust --show; ralph trust' },
    ];
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return [{ what, state: 'warning', detail: error.message, remedy: 'correct the file' }];
  }
}

const paint = painter(process.stdout);

const MARKS = {
  ok: () => paint('green', '[OK] '),
  warning: () => paint('yellow', '[!]  '),
  bad: () => paint('red', '[ERR]'),
};
