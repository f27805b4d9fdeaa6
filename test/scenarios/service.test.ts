/**
 * `ralph service` with a `systemctl` and a `loginctl` that record how they are called. The real ones would change the session
 * of the user who runs the tests, and are the one thing here that a script stands in for; src/background/systemd.test.ts lets
 * systemd itself read the unit.
 */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, type OpenStage, type Stage } from './stage.ts';

/** A stage with a user's systemd that answers, and without lingering. */
function withSystemd(open: OpenStage = openLoadedStage): Stage {
  const stage = open();
  const bin = dirname(stage.agent);
  const program = (name: string, script: string): void =>
    writeFileSync(join(bin, name), `#!/bin/sh\ncd "$FAKE_PLAN" || exit 9\n${script}\n`, { mode: 0o755 });
  program(
    'systemctl',
    `printf '%s\\n' "$*" >> calls.log
[ ! -e unreachable ] || { echo 'Failed to connect to bus' >&2; exit 1; }
case "$*" in
  *FragmentPath*) [ ! -e fragment ] || cat fragment ;;
  *' cat '*) test -e known ;;
  *is-active*) test -e active ;;
  *' enable --now'*) [ ! -e broken ] || { echo 'Unit is masked.' >&2; exit 1; }; : > known; : > active ;;
  *disable*) rm -f active ;;
esac`,
  );
  program('loginctl', '[ ! -e linger ] || cat linger');
  stage.env['PATH'] = `${bin}:${stage.env['PATH'] ?? ''}`;
  stage.env['XDG_CONFIG_HOME'] = stage.path('con fig');
  return stage;
}

const unitOf = (stage: Stage): string => stage.path('con fig/systemd/user/ralph.service');
const service = (stage: Stage, what: string) => stage.ralph('service', what).ended;

/** The commands that changed something since the last look. */
function changes(stage: Stage): readonly string[] {
  const log = join(stage.plan, 'calls.log');
  const calls = existsSync(log) ? readFileSync(log, 'utf8').split('\n').slice(0, -1) : [];
  writeFileSync(log, '');
  return calls.map((call) => call.replace('--user ', '')).filter((call) => !/^(show|cat|is-)/.test(call));
}

describe('ralph service install', () => {
  it('writes the unit and starts it; again, it starts it anew and changes nothing', async () => {
    const stage = withSystemd();
    stage.env['RALPH_STATE'] = 'a $tate';
    const first = await service(stage, 'install');
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain(`installed: ${unitOf(stage)}\nthe daemon is running`);
    const unit = readFileSync(unitOf(stage), 'utf8');
    expect(unit).toContain(`ExecStart="${process.execPath}" "${stage.main}" "daemon" "run" "--stay"\n`);
    expect(unit).toContain(`Environment="RALPH_STATE=${stage.path('a $tate')}"\n`);
    expect(unit).toContain(`Environment="PATH=${dirname(stage.agent)}:`);
    expect(changes(stage)).toEqual(['daemon-reload', 'enable --now ralph.service']);

    const again = await service(stage, 'install');
    expect(again).toMatchObject({ code: 0 });
    expect(again.stdout).toContain(`already installed: ${unitOf(stage)}\n`);
    expect(readFileSync(unitOf(stage), 'utf8')).toBe(unit);
    expect(changes(stage)).toEqual([
      'disable --now ralph.service',
      'daemon-reload',
      'enable --now ralph.service',
    ]);
  });

  it('mentions lingering only if it is not enabled', async () => {
    const stage = withSystemd();
    writeFileSync(join(stage.plan, 'linger'), 'no\n');
    expect((await service(stage, 'install')).stderr).toMatch(
      / start it at boot .*: loginctl enable-linger \S+\n/,
    );
    writeFileSync(join(stage.plan, 'linger'), 'yes\n');
    expect((await service(stage, 'install')).stderr).not.toContain('linger');
  });

  it('writes the unit and says which commands to type if systemd does not answer', async () => {
    const stage = withSystemd();
    stage.release('unreachable');
    const { code, stdout } = await service(stage, 'install');
    expect(code).toBe(0);
    expect(existsSync(unitOf(stage))).toBe(true);
    expect(stdout).toContain(
      '  systemctl --user daemon-reload\n  systemctl --user enable --now ralph.service\n',
    );
    expect(changes(stage)).toEqual([]);
    expect(await service(stage, 'status')).toMatchObject({ code: 1 });
    expect(await service(stage, 'uninstall')).toMatchObject({ code: 0 });
    expect(existsSync(unitOf(stage))).toBe(false);
  });

  it('exits with 3 and the reason if systemd refuses', async () => {
    const stage = withSystemd();
    stage.release('broken');
    const { code, stderr } = await service(stage, 'install');
    expect({ code, stderr: stderr.split('\n')[0] }).toEqual({
      code: 3,
      stderr: 'ralph: error: systemctl --user enable --now ralph.service failed: Unit is masked.',
    });
  });

  it('exits with 2 and an alternative if there is no systemd', async () => {
    const stage = openLoadedStage();
    stage.env['PATH'] = stage.path('nothing');
    const { code, stderr } = await service(stage, 'install');
    expect(code).toBe(2);
    expect(stderr).toContain('systemctl was not found');
    expect(stderr).toContain(`@reboot ${process.execPath} ${stage.main} daemon run --stay\n`);
    expect(existsSync(join(stage.env['HOME'] ?? '', '.config'))).toBe(false);
  });
});

describe('a daemon that runs already', () => {
  const log = (stage: Stage): string => join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph/daemon/daemon.log');
  /** Waits until the daemon's log has this text. */
  const logs = (stage: Stage, text: string) =>
    stage.shell('until grep -qF "$TEXT" "$LOG"; do sleep 0.02; done', { TEXT: text, LOG: log(stage) }).ended;

  it('ends when the service is installed, and leaves its loops to it', async () => {
    const stage = withSystemd(openStage);
    const daemon = stage.ralph('daemon', 'run', '--stay');
    await logs(stage, `started (process ${daemon.pid})`);
    expect(await service(stage, 'install')).toMatchObject({ code: 0 });
    expect((await daemon.ended).code).toBe(0);
    expect(changes(stage)).toEqual(['daemon-reload', 'enable --now ralph.service']);
  });

  it('is not disturbed by the daemon of the service, which waits for its end or for SIGTERM', async () => {
    const stage = openStage();
    const first = stage.ralph('daemon', 'run', '--stay');
    await logs(stage, `started (process ${first.pid})`);
    const waiting = `waits until the daemon (process ${first.pid}) ends`;
    const second = stage.ralph('daemon', 'run', '--stay');
    const third = stage.ralph('daemon', 'run', '--stay');
    await logs(stage, `process ${second.pid} ${waiting}`);
    await logs(stage, `process ${third.pid} ${waiting}`);
    third.signal('SIGTERM');
    expect((await third.ended).code).toBe(0);
    expect((await stage.ralph('daemon', 'run').ended).code).toBe(0);
    first.signal('SIGTERM');
    expect((await first.ended).code).toBe(0);
    await logs(stage, `started (process ${second.pid})`);
    second.signal('SIGTERM');
    expect((await second.ended).code).toBe(0);
  });
});

describe('ralph service uninstall', () => {
  it('stops and removes the unit; again, it has nothing to do', async () => {
    const stage = withSystemd();
    await service(stage, 'install');
    const wants = join(dirname(unitOf(stage)), 'default.target.wants');
    mkdirSync(wants);
    symlinkSync(unitOf(stage), join(wants, 'ralph.service'));
    changes(stage);
    expect(await service(stage, 'uninstall')).toMatchObject({ code: 0 });
    expect(changes(stage)).toEqual(['disable --now ralph.service', 'daemon-reload']);
    expect(existsSync(unitOf(stage))).toBe(false);
    expect(existsSync(join(wants, 'ralph.service'))).toBe(false);
    const again = await service(stage, 'uninstall');
    expect(again).toMatchObject({ code: 0, stdout: 'the service is not installed\n' });
    expect(changes(stage)).toEqual([]);
  });
});

describe('a unit that Ralph did not write', () => {
  it.each(['install', 'uninstall', 'status'])('is left alone by ralph service %s', async (what) => {
    const stage = withSystemd();
    mkdirSync(dirname(unitOf(stage)), { recursive: true });
    writeFileSync(unitOf(stage), '[Service]\nExecStart=/bin/mine\n');
    const { code, stderr } = await service(stage, what);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `ralph: error: ${unitOf(stage)} exists and was not written by Ralph; it stays as it is. Rename or remove it first\n`,
    });
    expect(readFileSync(unitOf(stage), 'utf8')).toBe('[Service]\nExecStart=/bin/mine\n');
    expect(changes(stage)).toEqual([]);
  });

  it('is left alone if it is a link, or belongs to another folder of systemd', async () => {
    const stage = withSystemd();
    mkdirSync(dirname(unitOf(stage)), { recursive: true });
    symlinkSync('/dev/null', unitOf(stage));
    expect(await service(stage, 'install')).toMatchObject({ code: 2 });
    const other = withSystemd();
    other.write('etc/ralph.service', '[Service]\n');
    writeFileSync(join(other.plan, 'fragment'), `${other.path('etc/ralph.service')}\n`);
    const { code, stderr } = await service(other, 'install');
    expect(code).toBe(2);
    expect(stderr).toContain(`${other.path('etc/ralph.service')} exists and was not written by Ralph`);
    expect(changes(other)).toEqual([]);
  });
});

describe('ralph service status', () => {
  it('exits with 0 only while the service runs, and notes a unit of another installation', async () => {
    const stage = withSystemd();
    expect(await service(stage, 'status')).toMatchObject({
      code: 1,
      stdout: 'the service is not installed; install it with: ralph service install\n',
    });
    await service(stage, 'install');
    const running = await service(stage, 'status');
    expect(running).toMatchObject({ code: 0, stdout: `running: ${unitOf(stage)}\n` });
    expect(running.stderr).not.toContain('another ralph');
    stage.env['RALPH_STATE'] = stage.path('other');
    await stage.shell('rm "$FAKE_PLAN/active"').ended;
    const stopped = await service(stage, 'status');
    expect(stopped).toMatchObject({ code: 1, stdout: `not running: ${unitOf(stage)}\n` });
    expect(stopped.stderr).toContain('the service was installed by another ralph');
  });

  it('works inside a run, where install and uninstall are refused', async () => {
    const stage = withSystemd();
    stage.plans(
      1,
      'for what in status install uninstall; do $RALPH service $what; echo "$what $?"; done >answers 2>&1',
    );
    stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
    await stage.run('-p', 'x', '-m', '1');
    const answers = stage.read('answers');
    expect(answers).toContain('status 1\n');
    expect(answers).toMatch(/"ralph service install" is refused inside a run[^]*\ninstall 2\n/);
    expect(answers).toMatch(/"ralph service uninstall" is refused inside a run[^]*\nuninstall 2\n/);
    expect(changes(stage)).toEqual([]);
  });
});
