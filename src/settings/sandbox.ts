/** The sandbox that several layers of settings ask for together. A repository's settings never weaken the user's. */
import type { SandboxPolicy } from '../loop/policy.ts';
import type { SandboxSettings, Settings } from './settings.ts';

/** Null for none. */
export function sandboxPolicy(setting: NonNullable<Settings['sandbox']>): SandboxPolicy | null {
  if (setting === false) return null;
  const { checks = false, write = [], hide = [], network = true } = setting === true ? {} : setting;
  return { checks, write, hide, network };
}

/**
 * The command line decides first, then the user's own settings, then those of the repository. Where the user asks for a
 * sandbox, the repository can only make it stricter: it neither switches it off, nor adds writable paths. Hidden paths add
 * up; checks are in it and the network is off if any layer says so.
 */
export function combinedSandbox({ flag, user, shared, local }: SandboxLayers): CombinedSandbox {
  const own = user?.sandbox;
  const ofRepository = local?.sandbox ?? shared?.sandbox;
  if (flag === false) return { sandbox: false, notes: [] };
  const byUser = flag === true || (own !== undefined && own !== false);
  const byRepository = ofRepository !== undefined && ofRepository !== false;
  if (!byUser && !byRepository) return { sandbox: flag ?? own ?? ofRepository, notes: [] };
  const layers = [own, shared?.sandbox, local?.sandbox].flatMap((layer) =>
    typeof layer === 'object' ? [layer] : [],
  );
  const asked = byUser ? own : ofRepository;
  const unused = byUser && writesOf(ofRepository).length > 0;
  return {
    sandbox: {
      checks: layers.some(({ checks }) => checks === true),
      write: writesOf(asked),
      hide: [...new Set(layers.flatMap(({ hide = [] }) => hide))],
      network: layers.every(({ network }) => network !== false),
    },
    notes: [
      ...(unused
        ? [
            `warning: sandbox.write of this repository is not used (${writesOf(ofRepository).join(', ')}); only your own settings can add writable paths to a sandbox that you ask for`,
          ]
        : []),
      ...(byUser && ofRepository === false
        ? ['warning: sandbox: false of this repository is not used; switch it off with --no-sandbox']
        : []),
    ],
  };
}

export interface SandboxLayers {
  readonly flag: Settings['sandbox'];
  readonly user: Pick<Settings, 'sandbox'> | null;
  readonly shared: Settings | null;
  readonly local: Settings | null;
}

export interface CombinedSandbox {
  readonly sandbox: Settings['sandbox'];
  /** What the user should know about it. */
  readonly notes: readonly string[];
}

function writesOf(setting: boolean | SandboxSettings | undefined): readonly string[] {
  return typeof setting === 'object' ? (setting.write ?? []) : [];
}
