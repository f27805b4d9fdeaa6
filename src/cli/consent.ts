/**
 * Asks for consent to the settings files of a workspace. `settings/trust-of.ts` decides whether they are trusted.
 *
 * 1. Only `y` or `yes` on a terminal is consent; Ctrl-C, the end of the input and everything else is not.
 * 2. The question is asked only about settings that were shown in full.
 */
import { entriesIn, type SettingsContent } from '../settings/consent.ts';
import { shortList } from '../loop/counted.ts';
import { type NeedsTrust, keepConsent, trustCommand } from '../settings/trust-of.ts';
import { UserError } from '../user-error.ts';
import { print, printAsIs, terminalWidth } from './print.ts';
import { areOrIs, namesOf, settingsText } from '../text/trust.ts';
import { visible } from '../text/one-line.ts';

/** Returns the settings that the user agrees to, on a terminal; throws without one, and if the answer is no. */
export async function askForTrust(
  needed: NeedsTrust,
  { json = false }: { readonly json?: boolean },
): Promise<readonly SettingsContent[]> {
  const { open, consents, isInside, workspace } = needed.trust;
  if (isInside) throw needed;
  // `node:tty` loads half of Node's networking, so it is loaded only for the question.
  const { isatty } = await import('node:tty');
  const obstacles: readonly (readonly [boolean, string])[] = [
    [json, 'with --json'],
    [isCi(process.env), 'in CI (the variable CI is set)'],
    [!isatty(0), 'if stdin is not a terminal'],
    [!isatty(1), 'if stdout is not a terminal'],
  ];
  const obstacle = obstacles.find(([applies]) => applies)?.[1] ?? null;
  if (obstacle !== null) throw notTrusted(open, workspace, obstacle);
  const { text, cut } = settingsText(entriesIn(open, consents), workspace, { width: terminalWidth() });
  printAsIs(text);
  if (cut.length > 0) throw tooLongToAsk(cut, workspace);
  const { askYesOrNo } = await import('./ask.ts');
  if (!(await askYesOrNo('Trust these settings and let Ralph run what they name? [y/N] ')))
    throw new UserError(
      `you did not trust the settings of ${visible(workspace)}, so nothing was started; show all of them with: ralph trust --show, trust them with: ralph trust`,
    );
  keepConsent(workspace, open);
  print('Trusted until they change; take it back with: ralph trust --revoke\n\n');
  return open;
}

/** A CI job has no person to answer, even if it has a terminal. */
function isCi({ CI = '' }: NodeJS.ProcessEnv): boolean {
  return !['', '0', 'false'].includes(CI);
}

function notTrusted(open: readonly SettingsContent[], workspace: string, obstacle: string): UserError {
  const command = trustCommand(workspace);
  return new UserError(
    `${namesOf(open)} of ${visible(workspace)} ${areOrIs(open)} not trusted yet, and Ralph does not ask ${obstacle}; review with: ${command} --show, then trust with: ${command} (in CI: --trust or RALPH_TRUST=1)`,
  );
}

function tooLongToAsk(cut: readonly string[], workspace: string): UserError {
  const command = trustCommand(workspace);
  return new UserError(
    `the settings of ${visible(workspace)} are not trusted yet, and Ralph does not ask, because they are too long to be shown here in full; read ${shortList(cut, MAX_NAMES)} (or: ${command} --show), then trust them with: ${command}`,
  );
}

const MAX_NAMES = 5;
