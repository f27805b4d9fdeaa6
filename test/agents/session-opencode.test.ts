/** Loops inside sessions of the real opencode, with our plugin. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mentions } from './model-server.ts';
import { LONG, serveOpencode, type OpencodeServer } from './opencode-serve.ts';
import { calls, hangs, isLimited, runs, says } from './script.ts';
import { CHECK, CLAIM, FIX } from './whole-loop.ts';

/** The folders of the sessions that have a loop. */
function sessionsWithLoop({ arena }: OpencodeServer): readonly string[] {
  const folder = join(arena.stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'sessions');
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.startsWith('ses_')) : [];
}

/** How many times the model was asked, without titles and the like. */
function asked({ arena }: OpencodeServer): number {
  return arena.model.requests.filter(({ turn }) => typeof turn === 'number').length;
}

async function noLoopIsLeft(server: OpencodeServer): Promise<void> {
  await expect.poll(() => sessionsWithLoop(server), LONG).toEqual([]);
}

/** A turn that lasts until the file `go` exists. */
const WAITS = runs('until test -e go; do sleep 0.1; done');

describe('a loop in a session of the real opencode', () => {
  it('S5.1 S5.36 goes on until the promise, with the task as it was written', async () => {
    const task = 'Fix $1 and !`touch broken` in @README.md';
    const server = await serveOpencode([says('one'), runs('echo two'), says('two'), says(CLAIM)]);
    const session = await server.createSession();
    server.command(session, 'ralph', `"${task}" --max-iterations=9`);
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Complete!');
    expect(await server.iterations(session)).toEqual(['2/9', '3/9']);
    expect((await server.texts(session, 'user')).every((text) => text.includes(task))).toBe(true);
    expect(existsSync(join(server.arena.stage.workspace, 'broken'))).toBe(false);
    expect(asked(server)).toBe(4);
    await noLoopIsLeft(server);
    const { stdout } = await server.arena.stage.ralph('ls', '--all', '--json').ended;
    expect(stdout).toContain('"done"');
  });

  it('S5.37 stops at the limit', async () => {
    const server = await serveOpencode([says('not yet')]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it" --max-iterations=3');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Stopped');
    expect(await server.iterations(session)).toEqual(['2/3', '3/3']);
    await noLoopIsLeft(server);
    await server.prompt(session, 'Thank you.');
    expect(asked(server)).toBe(4);
  });

  it('S5.1 ends as stuck after as many identical answers as `maxRepeats` says, but not if a tool was called between them', async () => {
    const same = says('I am working on it.');
    const server = await serveOpencode([same, runs('true'), same, same, same]);
    server.arena.stage.settings({ maxRepeats: 2 });
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect
      .poll(async () => (await server.notes(session)).join(), LONG)
      .toMatch(/ended after 4 iterations.*: stuck: the same answer 2 times in a row/);
    expect(asked(server)).toBe(5);
    await noLoopIsLeft(server);
  });

  it('is told that `ralph set` has changed its limit and that `ralph rm` has removed it', async () => {
    const waitsForEnd = runs('until test -e end; do sleep 0.1; done');
    const server = await serveOpencode([WAITS, says('one'), waitsForEnd, says('two')]);
    const { stage } = server.arena;
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(1);
    await stage.ralph('set', 'fix-it-1', 'max-iterations=3').ended;
    stage.write('go', '');
    await expect.poll(() => asked(server), LONG).toBe(3);
    expect(await server.iterations(session)).toEqual(['2/3']);
    await stage.ralph('rm', 'fix-it-1').ended;
    stage.write('end', '');
    await expect
      .poll(() => server.notes(session), LONG)
      .toEqual([
        expect.stringMatching(/^Ralph loop fix-it-1\S* was removed; this session has no loop any more$/),
      ]);
    await noLoopIsLeft(server);
  });

  it('S5.27 S5.45 is cancelled in the middle of a turn', async () => {
    const server = await serveOpencode([says('one'), WAITS, says('two'), says('three')]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(2);
    server.command(session, 'cancel-ralph');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Cancelled');
    await noLoopIsLeft(server);
    server.arena.stage.write('go', '');
    await expect.poll(() => server.idle.length, LONG).toBe(2);
    await server.prompt(session, 'Thank you.');
    expect(await server.iterations(session)).toEqual(['2/100']);
    expect(asked(server)).toBe(4);
    server.command(session, 'cancel-ralph');
    await expect.poll(() => server.toasts, LONG).toContain('No Active Loop');
  });

  it('S5.47 survives a restart of opencode, even by SIGKILL in the middle of a turn', async () => {
    const server = await serveOpencode([says('one'), hangs(), says('two'), says(CLAIM)]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(2);
    await server.kill('SIGKILL');
    await server.start();
    await server.prompt(session, 'Go on.');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Complete!');
    expect(await server.iterations(session)).toEqual(['2/100', '3/100']);
    await noLoopIsLeft(server);
  });

  it('S5.35 never touches a second session in the same folder, and is not ended by its promise or by that of a subagent', async () => {
    const subagent = { description: 'help', prompt: 'Help.', subagent_type: 'general' };
    const server = await serveOpencode([
      calls('task', subagent),
      says(CLAIM),
      says('one'),
      WAITS,
      says(CLAIM),
      says('two'),
      says(CLAIM),
    ]);
    const session = await server.createSession();
    const other = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(4);
    await server.prompt(other, 'Something else.');
    expect(sessionsWithLoop(server)).toEqual([session]);
    await server.abort(other);
    server.arena.stage.write('go', '');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Complete!');
    expect(await server.iterations(session)).toEqual(['2/100', '3/100']);
    expect(await server.texts(other, 'user')).toEqual(['Something else.']);
    expect(await server.texts(other, 'assistant')).toEqual([CLAIM]);
    expect(asked(server)).toBe(7);
  });

  it('rejects a promise while a check fails, and gives the output of the check to the agent', async () => {
    const server = await serveOpencode([says(CLAIM), runs(FIX), says(CLAIM)]);
    server.arena.stage.write('check.sh', CHECK);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Make the check pass." --check "sh check.sh"');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Complete!');
    expect(server.toasts).toContain('Ralph Loop: Promise Rejected');
    const requests = server.arena.model.requests.filter(({ turn }) => typeof turn === 'number');
    expect(requests.map((one) => mentions(one, 'the file is missing'))).toEqual([false, true, true]);
  });

  it('S5.31 stops at an abort, although idle fires twice', async () => {
    const server = await serveOpencode([says('one'), hangs(), says('thanks')]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(2);
    await server.abort(session);
    await expect.poll(() => server.idle, LONG).toEqual([session, session, session]);
    await noLoopIsLeft(server);
    await server.prompt(session, 'Thank you.');
    expect(await server.iterations(session)).toEqual(['2/100']);
    expect(asked(server)).toBe(3);
  });

  it('leaves notes in the session that its checks run and how the loop has ended, and asks the model nothing for them', async () => {
    const server = await serveOpencode([says(CLAIM), says('You are welcome.')]);
    const session = await server.createSession();
    const check = 'until test -e go; do sleep 0.1; done';
    server.command(session, 'ralph', `"Fix it" --check "${check}"`);
    await expect.poll(() => server.notes(session), LONG).toEqual([`Ralph loop: running the check ${check}`]);
    server.arena.stage.write('go', '');
    await expect.poll(() => server.notes(session), LONG).toHaveLength(2);
    expect((await server.notes(session))[1]).toMatch(/^Ralph loop fix-it-1 ended after 1 iteration.*: done/);
    await server.prompt(session, 'Thank you.');
    expect(asked(server)).toBe(2);
    const last = server.arena.model.requests.findLast(({ turn }) => turn === 1);
    expect(last !== undefined && mentions(last, 'running the check')).toBe(false);
  });

  it.each([
    ['an abort', 'cancelled at iteration 1'],
    ['ralph stop', 'ended after 1 iteration'],
  ])('S5.31 S5.52 is ended by %s while a check runs, which ends too', async (how, note) => {
    const server = await serveOpencode([says(CLAIM), says('You are welcome.')]);
    const { stage } = server.arena;
    const session = await server.createSession();
    server.command(
      session,
      'ralph',
      '"Fix it" --check "touch checking; until test -e go; do sleep 0.1; done"',
    );
    await expect.poll(() => existsSync(join(stage.workspace, 'checking')), LONG).toBe(true);
    await (how === 'an abort' ? server.abort(session) : stage.ralph('stop', 'fix-it-1').ended);
    await noLoopIsLeft(server);
    await expect.poll(async () => (await server.notes(session)).at(-1), LONG).toContain(note);
    expect((await stage.ralph('ls', '--all', '--json').ended).stdout).toContain('"stopped"');
    expect(asked(server)).toBe(1);
  });

  it('mentions the loop of another session of the folder at the start of a session', async () => {
    const server = await serveOpencode([says('one'), hangs(), says('Hello.')]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => asked(server), LONG).toBe(2);
    await server.kill('SIGKILL');
    await server.start();
    const other = await server.createSession();
    await server.prompt(other, 'Hello.');
    const text = `To continue it: opencode --session ${session}; to end it: ralph stop fix-it-1`;
    await expect.poll(async () => (await server.notes(other)).join(), LONG).toContain(text);
    expect(await server.notes(session)).toEqual([]);
  });

  it('leaves a usage limit to opencode, which repeats the turn itself', async () => {
    const server = await serveOpencode([isLimited(2), says(CLAIM)]);
    const session = await server.createSession();
    server.command(session, 'ralph', '"Fix it"');
    await expect.poll(() => server.toasts, LONG).toContain('Ralph Loop Complete!');
    expect(await server.iterations(session)).toEqual([]);
    expect(asked(server)).toBe(2);
  });

  it('refuses to start in `opencode run`, which exits after one turn', async () => {
    const server = await serveOpencode([says('one')]);
    const { workspace: cwd, env } = server.arena.stage;
    const args = ['run', '--model', 'ours/scripted', '--command', 'ralph', 'Fix it'];
    const printed = await new Promise<string>((resolve) => {
      const child = execFile(server.program, args, { cwd, env, timeout: 60_000 }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
      child.stdin?.end();
    });
    expect(printed).toContain('ralph run --agent opencode');
    expect(asked(server)).toBe(0);
  });
});
