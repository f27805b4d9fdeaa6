import { testNotices, type NoticeTest } from '../loops/test-notices.ts';
import { NeedsTrust } from '../settings/trust-of.ts';
import { askForTrust } from './consent.ts';
import { print } from './print.ts';
import { workspaceOf } from './workspace.ts';

export interface NotifyTestOptions {
  readonly to?: string;
  readonly notify?: readonly string[];
  readonly trust?: boolean;
  readonly cwd?: string;
}

/** `ralph notify test`: exits with 1 if a notice did not arrive. */
export async function notifyTest({ to, notify, trust, ...options }: NotifyTestOptions): Promise<number> {
  const results = await tested({ workspace: workspaceOf(options), settings: { notify }, to, trust });
  for (const { name, problem } of results)
    print(`${name}: ${problem === null ? 'sent' : `failed: ${problem}`}\n`);
  return results.every(({ problem }) => problem === null) ? 0 : 1;
}

/** Starts again once the user trusts the settings files. */
async function tested(test: NoticeTest): ReturnType<typeof testNotices> {
  try {
    return await testNotices(test);
  } catch (error) {
    if (!(error instanceof NeedsTrust)) throw error;
    return testNotices({ ...test, trust: await askForTrust(error, {}) });
  }
}
