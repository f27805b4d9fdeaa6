import { realpathSync } from 'node:fs';
import { readSettings } from '../config/read.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { UserError } from '../user-error.ts';
import { examineMachine, type Finding } from '../surroundings/survey.ts';
import { wrap } from '../text/columns.ts';
import { trustOf } from '../store/trust-of.ts';
import { trustSentence } from '../text/trust.ts';
import { painter } from './line-options.ts';
import { print, printJson, terminalWidth } from './print.ts';

/** `ralph doctor`: exits 1 if it finds a problem that prevents every loop from working. */
export async function doctor(options: { readonly json?: boolean }): Promise<number> {
  const findings = [
    ...(await examineMachine(startersEnvironment(process.env), process.cwd())),
    ...(await examineSettings(process.cwd())),
  ];
  const isBad = findings.some(({ state }) => state === 'bad');
  if (options.json === true) {
    printJson(findings, 2);
    return isBad ? 1 : 0;
  }
  const width = Math.max(...findings.map(({ what }) => what.length));
  const indent = ' '.repeat('[ERR] '.length + width + 2);
  for (const { what, state, detail, remedy } of findings) {
    const [first = '', ...others] = wrap(detail, terminalWidth() - indent.length);
    print(`${MARKS[state]()} ${what.padEnd(width)}  ${first}\n`);
    for (const line of others) print(`${indent}${line}\n`);
    if (remedy === null) continue;
    const [head = '', ...rest] = wrap(remedy, terminalWidth() - indent.length - 2);
    for (const line of [`→ ${head}`, ...rest.map((one) => `  ${one}`)]) print(`${indent}${line}\n`);
  }
  return isBad ? 1 : 0;
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
