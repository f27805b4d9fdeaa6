import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { openSessionPlace } from '../../../test/rig/session-place.ts';
import { stepDriver, type StepDriver } from './step-driver.ts';

const MAIN = fileURLToPath(new URL('../../../dist/cli/main.js', import.meta.url));
const RALPH = [process.execPath, MAIN];

let root: string;
let workspace: string;
beforeEach(() => {
  ({ root, workspace } = openSessionPlace());
});

/** A driver whose command prints this text. */
function answering(text: string, code = 0): StepDriver {
  const program = join(root, 'says');
  writeFileSync(program, `#!/bin/sh\ncat > /dev/null\ncat <<'END'\n${text}\nEND\nexit ${code}\n`);
  chmodSync(program, 0o755);
  return stepDriver('opencode', [[program]]);
}

describe('steps in a child process', () => {
  it('S5.49 takes the steps of a loop with the built command, and passes the task as data', async () => {
    // The first command is of a Node that was removed.
    const driver = stepDriver('opencode', [[process.execPath, join(root, 'gone.js')], RALPH]);
    const prompt = 'Fix "$HOME" and `$(touch broken)` $&';
    const started = await driver.start({ session: 's1', workspace, asked: { prompt, checks: [] } });
    expect(started.prompt).toContain(prompt);
    expect(await driver.endTurn('s1', { messages: [{ role: 'assistant', text: 'no' }] })).toMatchObject({
      type: 'continue',
      state: { iteration: 2 },
    });
    expect((await driver.status('s1'))?.[0]).toContain('iteration 2 of 100');
    expect(await driver.cancel('s1', started.state.loop ?? '')).toMatchObject({ iteration: 2 });
    expect(await driver.status('s1')).toBeNull();
  });

  it('hears that checks run before the answer, and looks whether the loop has ended meanwhile', async () => {
    const driver = stepDriver('opencode', [RALPH]);
    const checks = ['touch running; until test -e go; do sleep 0.02; done'];
    await driver.start({ session: 's1', workspace, asked: { prompt: 'Fix it', checks } });
    expect(await driver.look('s1')).toEqual({ type: 'none' });
    const heard: (readonly string[])[] = [];
    const turn = { messages: [{ role: 'assistant', text: '<promise>DONE</promise>' }] } as const;
    const answer = driver.endTurn('s1', turn, (commands) => {
      heard.push(commands);
      writeFileSync(join(workspace, 'go'), '');
    });
    expect(await answer).toMatchObject({ type: 'ended', outcome: 'done' });
    expect(heard).toEqual([checks]);
  });

  it('rejects with the message of Ralph', async () => {
    const driver = stepDriver('opencode', [RALPH]);
    const asked = { prompt: 'x', checks: [], maxTime: 'soon' };
    await expect(driver.start({ session: 's1', workspace, asked })).rejects.toThrow('--max-time');
    await expect(driver.status('../etc')).rejects.toThrow('session must be');
  });

  it('says how to install Ralph if there is none', async () => {
    const driver = stepDriver('opencode', [[join(root, 'no-such-program')]]);
    await expect(driver.status('s1')).rejects.toThrow('ralph hook install opencode');
  });

  it.each([
    ['not JSON', 0, 'ralph hook step failed: exit code 0'],
    ['{"type":"continue","prompt":1}', 0, 'unexpected answer of ralph hook step: prompt must be'],
    ['{"type":"cancelled"}', 0, 'state is required'],
    ['{"type":"error","message":"no space"}', 3, 'no space'],
  ])('rejects the answer %s', async (text, code, message) => {
    await expect(answering(text, code).endTurn('s1', { messages: [] })).rejects.toThrow(message);
  });
});
