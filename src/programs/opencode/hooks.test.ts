import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openSessionPlace } from '../../../test/rig/session-place.ts';
import { FakeOpencode } from '../../../test/rig/fake-opencode.ts';
import { loopsOfOthers } from '../../session/session-start.ts';
import { sessionStatus } from '../../session/session.ts';
import { readState } from '../../session/session-file.ts';
import { inProcessDriver } from '../../session/hook/driver.ts';
import { stepDriver, type StepDriver } from '../../session/hook/step-driver.ts';

const driver: StepDriver = {
  ...inProcessDriver('opencode', undefined),
  status: async (session) => (await sessionStatus(session))?.lines ?? null,
  begin: async (session, folder) => loopsOfOthers(session, folder),
};

let workspace: string;
let opencode: FakeOpencode;
beforeEach(() => {
  ({ workspace } = openSessionPlace());
  opencode = new FakeOpencode();
  opencode.load(workspace, driver);
});

async function start(written: string, session = 'ses_1'): Promise<readonly object[]> {
  const parts = await opencode.command(session, 'ralph', written);
  if (parts instanceof Error) throw parts;
  return parts;
}

const LONG = { timeout: 10_000 };
const prompted = (count: number): Promise<void> =>
  vi.waitFor(() => expect(opencode.prompts).toHaveLength(count), LONG);
const ended = (session = 'ses_1'): Promise<void> =>
  vi.waitFor(() => expect(readState(session)).toBeNull(), LONG);
const toasted = (title: string): Promise<void> =>
  vi.waitFor(() => expect(opencode.toasts.map((toast) => toast.title)).toContain(title), LONG);

/** The check of a loop runs; it has made a file. */
const checking = (): Promise<void> =>
  vi.waitFor(() => expect(existsSync(join(workspace, 'running'))).toBe(true), LONG);

/** A loop in another session continues meanwhile, and it is the only one. */
async function nothingElseContinues(): Promise<void> {
  await start('"Something else"', 'ses_other');
  await opencode.answers('ses_other', 'not yet');
  await prompted(1);
  expect(opencode.prompts.map(({ session }) => session)).toEqual(['ses_other']);
}

describe('the plugin of opencode', () => {
  it('S5.43 S5.44 S5.49 takes what is written after /ralph as data, and puts the task in the place of the template', async () => {
    const task = 'Fix $1 and !`touch broken` in @file';
    const files = [{ type: 'file', url: 'file:///a' }];
    const parts = await opencode.command('ses_1', 'ralph', `"${task}" --max-iterations=3`, files);
    expect(parts).toMatchObject([{ type: 'text' }, ...files]);
    expect(JSON.stringify(parts)).toContain(task);
    expect(JSON.stringify(parts)).toContain('<ralph-loop-mode iteration=');
    expect(readState('ses_1')).toMatchObject({ prompt: task, maxIterations: 3 });
    await toasted('Ralph Loop Started');
  });

  it('S5.1 S5.36 S5.40 continues with the agent and the model of the session, until the promise', async () => {
    await start('"Fix it"');
    await opencode.answers('ses_1', 'not yet');
    await prompted(1);
    expect(opencode.prompts[0]).toMatchObject({
      session: 'ses_1',
      body: { agent: 'plan', model: { providerID: 'ours', modelID: 'scripted' } },
    });
    expect(opencode.prompts[0]?.text).toMatch(/^\[RALPH LOOP - ITERATION 2\/100\]/);
    expect((await sessionStatus('ses_1'))?.lines).toContain('Cost so far: $0.50');
    await opencode.answers('ses_1', 'It works. <promise>DONE</promise>');
    await toasted('Ralph Loop Complete!');
    await ended();
    expect(opencode.prompts).toHaveLength(1);
  });

  it('S5.31 stops at an abort, although opencode reports idle twice after it', async () => {
    await start('"Fix it"');
    const idle = { sessionID: 'ses_1' };
    await opencode.emit('session.error', { ...idle, error: { name: 'MessageAbortedError', data: {} } });
    await opencode.emit('session.idle', idle);
    await opencode.emit('session.idle', idle);
    await ended();
    await nothingElseContinues();
    expect(opencode.logged).toContain('[ralph-loop] User aborted, loop cleared');
  });

  it('S5.31 S5.52 stops at an abort while its checks run, which opencode reports as one more idle event', async () => {
    await start('"Fix it" --check "touch running; sleep 60"');
    await opencode.works('ses_1');
    await opencode.answers('ses_1', '<promise>DONE</promise>');
    await checking();
    await opencode.emit('session.idle', { sessionID: 'ses_1' });
    await toasted('Ralph Loop Cancelled');
    await ended();
    await nothingElseContinues();
    await vi.waitFor(
      () => expect(opencode.notes.at(-1)?.text).toBe('Ralph loop cancelled at iteration 1.'),
      LONG,
    );
  });

  it('S5.31 S5.52 stops at an abort while its prompt waits', async () => {
    await start('"Fix it"');
    opencode.onToast = ({ title }) => {
      if (title !== 'Ralph Loop') return;
      opencode.onToast = () => {};
      queueMicrotask(() => void opencode.emit('session.idle', { sessionID: 'ses_1' }));
    };
    await opencode.works('ses_1');
    await opencode.answers('ses_1', 'not yet');
    await toasted('Ralph Loop Cancelled');
    await ended();
    await nothingElseContinues();
    expect(opencode.logged).toContain('[ralph-loop] User aborted, loop cleared');
  });

  it('S5.52 does not take the end of a turn of the person, while checks run, for an abort', async () => {
    await start('"Fix it" --check "touch running; until test -e go; do sleep 0.02; done"');
    await opencode.works('ses_1');
    await opencode.answers('ses_1', '<promise>DONE</promise>');
    await checking();
    await opencode.works('ses_1');
    await opencode.answers('ses_1', 'You are welcome.');
    writeFileSync(join(workspace, 'go'), '');
    await toasted('Ralph Loop Complete!');
    expect(opencode.logged).not.toContain('[ralph-loop] User aborted, loop cleared');
  });

  it('leaves a note of the end in the session, after the turn if there is one', async () => {
    await start('"Fix it" --max-iterations=1');
    await opencode.answers('ses_1', 'not yet');
    await vi.waitFor(() => expect(opencode.notes).toHaveLength(1), LONG);
    expect(opencode.notes[0]?.text).toMatch(/^Ralph loop fix-it-1 ended after 1 iteration, /);
    await start('"Fix it"', 'ses_2');
    opencode.setBusy('ses_2');
    await opencode.command('ses_2', 'cancel-ralph');
    await toasted('Ralph Loop Cancelled');
    expect(opencode.notes).toHaveLength(1);
    opencode.setBusy('ses_2', false);
    await opencode.emit('session.idle', { sessionID: 'ses_2' });
    await vi.waitFor(() => expect(opencode.notes).toHaveLength(2), LONG);
    expect(opencode.notes[1]).toEqual({ session: 'ses_2', text: 'Ralph loop cancelled at iteration 1.' });
  });

  it('mentions the loop of another session at the start of a session, but not of a subagent', async () => {
    await start('"Fix it"');
    await opencode.emit('session.created', { info: { id: 'ses_child', parentID: 'ses_1' } });
    await opencode.emit('session.created', { info: { id: 'ses_2' } });
    const text =
      'Another session of this folder has a Ralph loop: fix-it-1, iteration 1 of 100. To continue it: opencode --session ses_1; to end it: ralph stop fix-it-1';
    await vi.waitFor(() => expect(opencode.toasts.at(-1)?.message).toBe(text), LONG);
    expect(opencode.notes).toEqual([]);
    await opencode.emit('session.idle', { sessionID: 'ses_child' });
    await opencode.emit('session.idle', { sessionID: 'ses_2' });
    await vi.waitFor(() => expect(opencode.notes).toEqual([{ session: 'ses_2', text }]), LONG);
  });

  it('says in the session that Ralph is missing', async () => {
    await start('"Fix it"');
    opencode.load(workspace, {
      ...driver,
      ...stepDriver('opencode', [[join(workspace, 'no-such-program')]]),
    });
    await opencode.answers('ses_1', 'not yet');
    await vi.waitFor(() => expect(opencode.notes).toHaveLength(1), LONG);
    expect(opencode.notes[0]?.text).toMatch(
      /^Ralph loop: not continued: cannot find Ralph; .*ralph hook install opencode/,
    );
  });

  it('S5.32 S5.33 rests after an error, and ignores errors of no session', async () => {
    await start('"Fix it"');
    await opencode.emit('session.error', { error: { name: 'UnknownError', data: { message: 'a plugin' } } });
    await opencode.answers('ses_1', 'one');
    await prompted(1);
    await opencode.emit('session.error', { sessionID: 'ses_1', error: { name: 'APIError', data: {} } });
    await opencode.answers('ses_1', '');
    await vi.waitFor(() => expect(opencode.logged).toContain('[ralph-loop] Skipped: in recovery'), LONG);
    expect(opencode.prompts).toHaveLength(1);
    expect(readState('ses_1')).toMatchObject({ active: true });
  });

  it('pauses at a usage limit, in the session that has reached it', async () => {
    await start('"Fix it"');
    const data = { message: 'The usage limit has been reached', statusCode: 429 };
    await opencode.emit('session.error', { sessionID: 'ses_1', error: { name: 'APIError', data } });
    await opencode.answers('ses_1', '');
    await toasted('Ralph Loop Waiting');
    await nothingElseContinues();
    expect(readState('ses_1')).toMatchObject({ active: true, iteration: 1 });
  });

  it('S5.30 S5.35 ends the loop of a session that was deleted, and no other', async () => {
    await start('"One"', 'ses_1');
    await start('"Two"', 'ses_2');
    await opencode.answers('ses_child', 'I am a subagent. <promise>DONE</promise>');
    // Versions before 1.18 name the session in `info` only.
    await opencode.emit('session.deleted', { info: { id: 'ses_1' } });
    await ended('ses_1');
    expect(readState('ses_2')).toMatchObject({ active: true, iteration: 1 });
    opencode.delete('ses_2');
    await opencode.emit('session.idle', { sessionID: 'ses_3' });
    await ended('ses_2');
    expect(opencode.prompts).toEqual([]);
  });

  it('S5.27 S5.45 cancels without a word to the model', async () => {
    await start('"Fix it"');
    expect(await opencode.command('ses_1', 'cancel-ralph')).toBeInstanceOf(Error);
    await toasted('Ralph Loop Cancelled');
    await opencode.answers('ses_1', 'still here');
    expect(await opencode.command('ses_1', 'cancel-ralph')).toBeInstanceOf(Error);
    await toasted('No Active Loop');
    await nothingElseContinues();
  });

  it('shows the status to the person, in a toast alone while the agent works', async () => {
    await start('"Fix it" --max-iterations=4');
    opencode.setBusy('ses_1');
    await opencode.command('ses_1', 'ralph-status');
    expect(opencode.toasts.at(-1)?.message).toContain('iteration 1 of 4');
    expect(opencode.notes).toEqual([]);
    await opencode.command('ses_2', 'ralph-status');
    expect(opencode.notes).toEqual([{ session: 'ses_2', text: 'No Ralph Loop is currently running' }]);
  });

  it.each([
    ['"Fix it" --max-iterations=0', '--max-iterations'],
    ['"Fix it" --check ""', '--check'],
  ])('says what is wrong with /ralph %s', async (written, message) => {
    expect(await opencode.command('ses_1', 'ralph', written)).toBeInstanceOf(Error);
    expect(opencode.notes[0]?.text).toContain(message);
    expect(opencode.toasts).toContainEqual(expect.objectContaining({ title: 'Ralph Loop Not Started' }));
    expect(readState('ses_1')).toBeNull();
  });

  it('acts once if it is installed twice', async () => {
    opencode.load(workspace, driver);
    await start('"Fix it"');
    await opencode.answers('ses_1', 'not yet');
    await prompted(1);
    await opencode.answers('ses_1', '<promise>DONE</promise>');
    await ended();
    expect(opencode.toasts.filter(({ title }) => title === 'Ralph Loop Started')).toHaveLength(1);
    expect(opencode.prompts).toHaveLength(1);
  });

  it('continues the loop of an opencode that was restarted', async () => {
    await start('"Fix it"');
    const { prompts } = opencode;
    await opencode.answers('ses_1', 'not yet');
    await prompted(1);
    opencode.load(workspace, driver);
    await opencode.answers('ses_1', 'still not');
    await prompted(2);
    expect(prompts[1]?.text).toMatch(/ITERATION 3\/100/);
  });

  it('starts and continues nothing in `opencode run`, which exits after one turn', async () => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await start('"Fix it"');
      opencode.load(workspace, driver, { hasOneTurn: true });
      await opencode.answers('ses_1', '<promise>DONE</promise>');
      expect(await opencode.command('ses_2', 'ralph', '"Fix it"')).toBeInstanceOf(Error);
      expect(written.mock.calls.flat().join('')).toContain('ralph run --agent opencode');
    } finally {
      written.mockRestore();
    }
    expect(readState('ses_1')).toMatchObject({ active: true, iteration: 1 });
    expect(readState('ses_2')).toBeNull();
  });
});
