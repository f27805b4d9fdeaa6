/**
 * Text of agents and checks that tries to deceive, on a real terminal.
 *
 * @module-tag tmux
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';
import { Terminals } from '../rig/cli/terminal.ts';

let terminals: Terminals;
let rig: Rig;
beforeAll(() => {
  terminals = new Terminals();
});
afterAll(() => terminals.close());
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

async function shown(...args: readonly string[]): Promise<string> {
  const terminal = terminals.open([process.execPath, rig.command, ...args], {
    cwd: rig.workspace,
    env: { ...rig.env, TERM: 'screen', DEPLOY_TOKEN: 'my-very-secret-value' },
  });
  await terminal.ends();
  return terminal.screen;
}

it('shows overrides of the direction, invisible and hidden text, and no secrets', async () => {
  const hostile =
    'if \u202E(admin)\u2066 user\u200Bname \u001B[08mhidden\u001B[0m \u001B]8;;http://evil\u001B\\link my-very-secret-value';
  rig.write('hostile', `${hostile}\n`);
  const check = ['--check', 'cat hostile; exit 1', '-m', '1'];
  const honest = 'if <U+202E>(admin)<U+2066> user<U+200B>name hidden link <redacted>';
  const run = await shown(
    'run',
    'x',
    '--name',
    'a',
    ...check,
    '--',
    '/bin/sh',
    '-c',
    'cat hostile; cat hostile >&2',
  );
  // On stdout, on stderr and from the check.
  expect(run.split(honest)).toHaveLength(4);
  expect(run).toContain(`  |  ${honest}`);
  expect(await shown('logs', 'a')).toContain(honest);
});
