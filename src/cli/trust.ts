import { readSettings } from '../settings/read.ts';
import { revokeConsent } from '../settings/trust.ts';
import { UserError } from '../user-error.ts';
import { entriesIn } from '../settings/consent.ts';
import { keepConsent, trustOf } from '../settings/trust-of.ts';
import { fullText, namesOf, settingsText } from '../text/trust.ts';
import { print, printAsIs, terminalWidth, warn } from './print.ts';
import { visible } from '../text/one-line.ts';
import { workspaceOf } from './workspace.ts';

export interface TrustOptions {
  readonly show?: boolean;
  readonly revoke?: boolean;
  readonly cwd?: string;
}

/** `ralph trust`: trusts the settings files of a workspace as they are now, shows them, or takes the trust back. */
export async function trust(options: TrustOptions): Promise<number> {
  const workspace = workspaceOf(options);
  if (options.show === true && options.revoke === true)
    throw new UserError('cannot specify both --show and --revoke');
  if (options.show === true) return show(workspace);
  if (options.revoke === true) {
    print(
      revokeConsent(workspace)
        ? `The settings of ${visible(workspace)} are no longer trusted\n`
        : `The settings of ${visible(workspace)} were not trusted; nothing to revoke\n`,
    );
    return 0;
  }
  const { contents, open, consents } = trustOf(await readSettings(workspace), workspace);
  if (contents.length === 0) {
    print(`${visible(workspace)} has no settings that need trust\n`);
    return 0;
  }
  const width = terminalWidth();
  if (open.length > 0) printAsIs(settingsText(entriesIn(open, consents), workspace, { width }).text);
  const unprotected = keepConsent(workspace, open);
  print(`Trusted: ${namesOf(contents)}; take it back with: ralph trust --revoke\n`);
  if (unprotected !== null)
    warn(
      `note: ralph run still asks: the state folder ${visible(unprotected)} is inside the workspace, where a repository could forge trust\n`,
    );
  return 0;
}

async function show(workspace: string): Promise<number> {
  const { contents, open, consents } = trustOf(await readSettings(workspace), workspace);
  if (contents.length === 0) print(`${visible(workspace)} has no settings that need trust\n`);
  else if (open.length === 0) print(`The settings of ${visible(workspace)} are trusted.\n`);
  // What has changed comes first.
  const changed = open.filter(({ file }) => consents.some((one) => one.file === file));
  const width = terminalWidth();
  if (changed.length > 0)
    printAsIs(settingsText(entriesIn(changed, consents), workspace, { full: true, width }).text);
  if (open.length > changed.length) print(`The settings of ${visible(workspace)} are not trusted yet.\n`);
  for (const one of entriesIn(contents, [])) printAsIs(fullText(one, width));
  return 0;
}
