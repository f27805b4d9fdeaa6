import { startersEnvironment } from '../home/run-environment.ts';
import { Undelivered } from '../notices/channel.ts';
import { send } from '../notices/outbox.ts';
import { readSettings } from '../settings/read.ts';
import { mergeSettings, type Settings } from '../settings/settings.ts';
import { keepConsent, NeedsTrust, trustOf, type Agreed } from '../settings/trust-of.ts';
import { testNotice } from '../text/notices.ts';
import { UserError } from '../user-error.ts';
import { noticeTargets } from '../owner/notice-targets.ts';

export interface NoticeTest {
  readonly workspace: string;
  /** They add to the settings files, as for a loop. */
  readonly settings: Settings;
  /** The name of one target; absent for all. */
  readonly to?: string | undefined;
  readonly trust?: Agreed | undefined;
}

/** Sends a test notice to every target of the loops of a workspace. Throws `NeedsTrust` for settings that the user does not trust. */
export async function testNotices({
  workspace,
  settings,
  to,
  trust: agreed,
}: NoticeTest): Promise<readonly Tested[]> {
  const files = await readSettings(workspace);
  const trust = trustOf(files, workspace, agreed);
  if (!trust.isTrusted) throw new NeedsTrust(trust);
  if (trust.open.length > 0) keepConsent(workspace, trust.open);
  const merged = mergeSettings(files.merged, settings);
  const given = startersEnvironment(process.env);
  const { targets, secrets, notes, env } = noticeTargets(
    files,
    { settings: merged, asked: settings },
    given,
    null,
  );
  const chosen = targets.filter(({ name }) => to === undefined || name === to);
  if (chosen.length === 0) {
    const known = targets.map(({ name }) => name).join(', ');
    throw new UserError(
      targets.length === 0
        ? 'no place for notices is set up; name one with --notify, or in the settings (docs/notices.md)'
        : `no place for notices is called ${JSON.stringify(to)} (known: ${known})`,
    );
  }
  const told = testNotice(workspace, Date.now());
  const interrupt = new AbortController().signal;
  return Promise.all(
    chosen.map(async (target): Promise<Tested> => {
      const missing = notes.find((note) => note.startsWith(`no notices to ${target.name}: `));
      if (missing !== undefined) return { name: target.name, problem: missing };
      try {
        await send(told, { target, secrets, cwd: workspace, env, interrupt });
        return { name: target.name, problem: null };
      } catch (error) {
        if (!(error instanceof Undelivered)) throw error;
        return { name: target.name, problem: error.message };
      }
    }),
  );
}

export interface Tested {
  readonly name: string;
  /** Null if it arrived. */
  readonly problem: string | null;
}
