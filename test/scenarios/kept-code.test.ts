/* oxlint-disable no-await-in-loop -- the commands run one after the other */
/** Every command keeps its compiled code for the next call, and uses it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStage, type Stage } from './stage.ts';

const folder = (stage: Stage): string => join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'code');

/** The number of calls that have written the code of each file. */
function writers(stage: Stage): Readonly<Record<string, number>> {
  const names = readdirSync(folder(stage));
  return Object.fromEntries(
    names.map((name) => [
      name.replace(/\.js-.*/, ''),
      Number(readFileSync(join(folder(stage), name), 'latin1')[0]),
    ]),
  );
}

it('keeps the code of ralph run in its first calls, also of a loop that runs for more than a second', async () => {
  const stage = openStage({ isFirst: true });
  const run = async (script: string): Promise<void> => {
    stage.plans('default', script);
    expect(await stage.run('-p', 'work', '-m', '1', '--fresh')).toMatchObject({ code: 1 });
  };
  await run('echo hi');
  // The call that makes the state folder may be the only one.
  expect(existsSync(folder(stage))).toBe(false);
  // A loop that runs for long sets flags of V8. Code that was kept with them would be rejected and written by a first call again.
  await run('sleep 1.1');
  for (let call = 2; call <= 4; call++) await run('echo hi');
  expect(writers(stage)).toMatchObject({ parser: 4, control: 4, show: 4, create: 4, drive: 4 });
});
