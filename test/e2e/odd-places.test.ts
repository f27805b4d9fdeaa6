/** Outputs that take nothing, and homes that cannot be written. */
import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const shell = (line: string, env: Record<string, string> = {}) =>
  rig.program(['/bin/sh', '-c', line], { RALPH: `${process.execPath} ${rig.command}`, ...env }).ended;
const FULL = 'cannot write to stdout: no space left on the disk';

describe.runIf(existsSync('/dev/full'))('output to a full disk', () => {
  it.each(['ls --json', 'config', 'agents', 'help run', '--version'])(
    'is reported by ralph %s in one line, with exit code 3',
    async (command) => {
      const end = await shell(`$RALPH ${command} > /dev/full`);
      expect(end.stderr).toMatch(/^ralph: error: cannot write to stdout: .*no space left on .*\n$/);
      expect(end.code).toBe(3);
    },
  );

  it.each(['status a', 'logs a', 'logs a --raw', 'logs a --follow', 'story a'])(
    'is reported by ralph %s in one line, with exit code 3',
    async (command) => {
      await shell('$RALPH run task --name a -m 1 -- echo hello');
      const end = await shell(`$RALPH ${command} > /dev/full`);
      expect(end.stderr).toBe(`ralph: error: ${FULL}\n`);
      expect(end.code).toBe(3);
    },
  );

  it('does not stop a loop, which warns once', async () => {
    const end = await shell(`$RALPH run task --name a -m 2 -- echo hello > /dev/full`);
    expect(end.code).toBe(1);
    expect(end.stderr.split(FULL)).toHaveLength(2);
    expect(end.stderr).toContain(`ralph: warning: ${FULL}; the output of the agent is kept: ralph logs a\n`);
    expect(rig.loop('a').state.outcome?.type).toBe('iterations-exhausted');
  });

  it('fails a command whose result is for a program', async () => {
    const end = await shell(`$RALPH run task --name a -m 1 --json -- echo hello > /dev/full`);
    expect(end.code).toBe(3);
    expect(end.stderr).toContain(`ralph: error: ${FULL}\n`);
  });
});

describe.runIf(process.platform === 'linux')('a home that cannot be written', () => {
  const proc = { HOME: '/proc', XDG_STATE_HOME: '' };

  it('stops a loop before it starts, and the message names RALPH_STATE', async () => {
    const end = await rig.runs(['run', 'task', '--name', 'a', '-m', '1', '--', 'echo', 'hello'], {
      env: proc,
    }).ended;
    expect(end).toMatchObject({ code: 2, stdout: '' });
    expect(end.stderr).toMatch(
      /^ralph: error: cannot write \/proc\/\.local\/state\/ralph: .*; set RALPH_STATE to a folder that can be written\n$/,
    );
  });

  it('is a problem that ralph doctor names', async () => {
    const end = await rig.runs(['doctor'], { env: proc }).ended;
    expect(end.stdout).toMatch(/\[ERR\] state folder +\/proc\/\.local\/state\/ralph: /);
    expect(end.code).toBe(1);
  });

  it('has no loops for ralph ls --all', async () => {
    expect(await rig.runs(['ls', '--all'], { env: proc }).ended).toMatchObject({
      code: 0,
      stdout: '',
      stderr: 'no loops in any workspace; start one with: ralph run\n',
    });
  });

  it('is refused as a workspace in one line', async () => {
    const end = await rig.runs(['run', 'task', '-m', '1', '--', 'true'], { cwd: '/proc' }).ended;
    expect(end.stderr).toMatch(/^ralph: error: cannot write \/proc\/\.ralph: .*\n$/);
    expect(end.code).toBe(2);
  });
});
