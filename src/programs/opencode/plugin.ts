/**
 * The plugin of opencode (1.18), bundled into one file: the hook of document 004, with steps that `ralph hook step` takes.
 *
 * 1. The default export is the only one: older versions of opencode call everything that a plugin exports.
 * 2. It imports modules of Node only, which Bun has too.
 */
import type { OpencodeInput } from './client.ts';
import { opencodeHooks, type OpencodeHooks } from './hooks.ts';
import { stepDriver } from '../../session/hook/step-driver.ts';

/** How to call Ralph; `ralph hook install opencode` writes it into the installed file. */
declare const RALPH_COMMAND: readonly string[] | null;

// oxlint-disable-next-line import/no-default-export -- required by opencode
export default {
  id: 'ralph',
  async server(input: OpencodeInput): Promise<OpencodeHooks> {
    // `opencode run` ends at the first idle event.
    const command = process.argv.slice(2).find((word) => !word.startsWith('-'));
    return opencodeHooks(input, stepDriver('opencode', waysToCallRalph()), { hasOneTurn: command === 'run' });
  },
};

function waysToCallRalph(): readonly (readonly string[])[] {
  const given = typeof RALPH_COMMAND === 'undefined' ? null : RALPH_COMMAND;
  return given === null ? [['ralph']] : [given, ['node', ...given.slice(1)], ['ralph']];
}
