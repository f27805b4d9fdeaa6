import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { onDisk } from '../rig/temporary-folder.ts';
import { openLoadedStage, openStage, waitFor, type OpenStage, type Stage } from './stage.ts';

/** A stage whose user asks for a sandbox, in which the agent reaches its plan. */
function sandboxed(more: object = {}, open: OpenStage = openLoadedStage): Stage {
  const stage = open({ parent: onDisk() });
  settingsOfUser(stage, { write: [stage.plan, dirname(stage.agent)], ...more });
  return stage;
}

function settingsOfUser(stage: Stage, sandbox: unknown): void {
  inHome(stage, '.config/ralph/settings.json', JSON.stringify({ sandbox }));
}

function inHome(stage: Stage, name: string, text: string): string {
  const path = join(stage.env['HOME'] ?? '', name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** A script that notes what each line did, and goes on. */
function tries(lines: Readonly<Record<string, string>>): string {
  const each = Object.entries(lines).map(
    ([name, line]) => `{ ${line}; } >"$FAKE_CALL/${name}" 2>&1 && echo yes >"$FAKE_CALL/${name}.ok"`,
  );
  return [...each, 'echo "<promise>DONE</promise>"'].join('\n');
}

/** Which of the lines succeeded. */
function succeeded(stage: Stage, names: readonly string[]): readonly string[] {
  return names.filter((name) => stage.has(1, `${name}.ok`));
}

const COMMIT = 'git -c user.name=t -c user.email=t@t commit --quiet --allow-empty -m inside';

describe('an agent in a sandbox', { tags: ['bwrap'] }, () => {
  it('writes the workspace and commits, and nothing else; secrets and state are hidden', async () => {
    const stage = sandboxed();
    const outside = inHome(stage, 'outside', 'as it was\n');
    inHome(stage, '.ssh/id_ed25519', 'a private key');
    inHome(stage, '.netrc', 'a password');
    inHome(stage, '.local/state/ralph/trust', 'a consent');
    inHome(stage, '.config/gh/hosts.yml', 'a token');
    stage.env['SSH_AUTH_SOCK'] = join(dirname(stage.plan), 'agent.sock');
    const state = stage.env['XDG_STATE_HOME'] ?? '';
    const lines = {
      workspace: 'echo x >made',
      workspaceFolder: 'echo x >"$TASK_FOLDER/note"',
      commit: `git add made && ${COMMIT}`,
      temporary: 'echo x >"$TMPDIR/x" && cat /tmp/x',
      outside: `echo x >${outside}`,
      home: 'echo x >"$HOME/new"',
      ssh: 'cat "$HOME/.ssh/id_ed25519"',
      netrc: 'grep -q password "$HOME/.netrc"',
      gh: 'cat "$HOME/.config/gh/hosts.yml"',
      state: `test -n "$(ls -A ${state}/ralph)"`,
      stateWrite: `echo x >${state}/ralph/x`,
      otherState: 'cat "$HOME/.local/state/ralph/trust"',
      socket: 'test -n "$SSH_AUTH_SOCK"',
      hook: 'echo x >.git/hooks/pre-commit',
      config: 'git config core.fsmonitor ./x',
      moved: 'mv .git old && cp -r old .git',
      settings: 'echo {} >.ralph/settings.json',
      mount: 'umount .git/hooks || mount -o remount,rw /',
    };
    stage.plans(1, tries(lines));
    const { code, stderr } = await stage.run('-p', 'a task', '-m', '1');
    expect(succeeded(stage, Object.keys(lines))).toEqual([
      'workspace',
      'workspaceFolder',
      'commit',
      'temporary',
    ]);
    expect(code).toBe(0);
    expect(stderr).toContain('sandbox');
    expect(stage.git('log', '-1', '--format=%s').trim()).toBe('inside');
    expect(readFileSync(outside, 'utf8')).toBe('as it was\n');
    expect(existsSync('/tmp/x')).toBe(false);
    expect(stage.git('config', '--get-all', 'core.bare').trim()).toBe('false');
  });

  it('commits in a worktree, whose git folder is elsewhere', async () => {
    const stage = sandboxed();
    stage.git('config', 'user.name', 't');
    stage.git('config', 'user.email', 't@t');
    const lines = {
      commit: `echo x >made && git add made && ${COMMIT}`,
      main: `echo x >${stage.workspace}/README.md`,
      hook: 'echo x >"$(git rev-parse --git-path hooks)/pre-commit"',
      config: 'git config core.fsmonitor ./x',
      pointer: 'echo gitdir: /tmp/x >.git',
    };
    stage.plans(1, tries(lines));
    await stage.run('-p', 'a task', '-m', '1', '--worktree');
    expect(succeeded(stage, Object.keys(lines))).toEqual(['commit']);
    expect(stage.git('log', '-1', '--format=%s', 'ralph/it').trim()).toBe('inside');
  });

  it(
    'leaves nothing running, and its settings files are moved aside if they are new',
    { tags: ['setsid'] },
    async () => {
      const stage = sandboxed();
      stage.write('.claude/settings.json', '{}');
      const alive = join(stage.plan, 'alive');
      const lines = {
        old: 'echo x >.claude/settings.json',
        moved: 'mv .claude other',
        local: 'echo x >.claude/settings.local.json',
        mcp: 'echo x >.mcp.json',
        escape: `env -i setsid /bin/sh -c 'while :; do echo x >>${alive}; sleep 0.02; done' >/dev/null 2>&1 & while [ ! -e ${alive} ]; do sleep 0.01; done`,
      };
      stage.plans(1, tries(lines));
      const { stderr } = await stage.run('-p', 'a task', '-m', '1');
      expect(succeeded(stage, Object.keys(lines))).toEqual(['local', 'mcp', 'escape']);
      expect(
        ['.claude/settings.local.json', '.mcp.json'].filter((name) => existsSync(stage.path(name))),
      ).toEqual([]);
      expect(stderr).toContain(`the agent has made ${stage.path('.mcp.json')}`);
      expect(stage.read('.claude/settings.json')).toBe('{}');
      const size = readFileSync(alive, 'utf8').length;
      await stage.ralph('status', 'it').ended;
      expect(readFileSync(alive, 'utf8')).toHaveLength(size);
    },
  );

  it('cannot make Ralph read or move a file outside through a link', async () => {
    const stage = sandboxed();
    const secret = inHome(stage, '.ssh/id_ed25519', 'a private key');
    const marker = inHome(stage, 'victim/DONE', 'precious');
    stage.write('task.md', 'a task');
    stage.write('sub/file', '');
    stage.plans(1, `rm -r sub && ln -s ${dirname(marker)} sub && ln -sf ${secret} task.md`);
    const options = ['--done-file', stage.path('sub/DONE'), '--check', 'false', '-m', '2'];
    const { stderr } = await stage.run('-f', 'task.md', ...options);
    expect(stderr).toContain('sub/DONE is outside of the workspace: a link leads there');
    expect(readFileSync(marker, 'utf8')).toBe('precious');
    rmSync(stage.path('sub'));
    const resumed = await stage.ralph('resume', 'it').ended;
    expect(resumed.stderr).toContain(`it is a link to ${secret} now`);
    expect(stage.calls).toBe(1);
  });

  it('asks its owner for the status and tells it something, and knows no loops but its own', async () => {
    const stage = sandboxed();
    stage.plans(
      1,
      [
        `r() { ${process.execPath} ${stage.main} "$@" >"$FAKE_CALL/$1" 2>&1; echo $? >>"$FAKE_CALL/$1"; }`,
        'r status; r tell it "look at the tests"; r run "a task" --env X=1; r stop it; r pause it; r skill; r help limits',
        `echo "from a pipe" | ${process.execPath} ${stage.main} tell self - >"$FAKE_CALL/pipe" 2>&1`,
        `${process.execPath} ${stage.main} tell self use the --strict flag >"$FAKE_CALL/strict" 2>&1`,
        `${process.execPath} ${stage.main} status other >"$FAKE_CALL/other" 2>&1`,
        `${process.execPath} ${stage.main} status it --json >"$FAKE_CALL/json" 2>&1`,
        'mkfifo "$TASK_FOLDER/requests/000000000000001-00000000-0000-0000-0000-000000000000.json"',
        'ln -s /etc/passwd "$TASK_FOLDER/requests/000000000000002-00000000-0000-0000-0000-000000000000.json"',
        `echo '{"type":["tell"]}' >"$TASK_FOLDER/requests/000000000000003-00000000-0000-0000-0000-000000000000.json"`,
        `${process.execPath} ${stage.main} status >"$FAKE_CALL/after" 2>&1`,
      ].join('\n'),
    );
    stage.plans(2, 'echo "<promise>DONE</promise>"');
    const { code, stderr } = await stage.run('-p', 'a task', '-m', '2');
    expect(code).toBe(0);
    expect(stage.given(1, 'status')).toMatch(
      /^Ralph Loop: it\nStatus: running\n.*\nSandbox: agent; checks run outside; also writable: .*\n0\n$/s,
    );
    expect(stage.given(1, 'tell')).toBe('delivered to it; it goes into the next prompt\n0\n');
    expect(stage.given(1, 'pipe')).toBe('delivered to it; it goes into the next prompt\n');
    expect(stage.given(1, 'strict')).toContain("unknown option '--strict'");
    expect(stage.given(2, 'stdin')).toContain('look at the tests');
    expect(stage.given(2, 'stdin')).toContain('from a pipe');
    expect(stage.given(1, 'run')).toBe(
      'ralph: error: --env does not work inside a sandbox: a child loop has the agent, the environment and the folder of its parent. Drop it; a child can have a task, --name, --tag, --preset, --max-iterations, --max-time, --max-cost, --max-tokens, --check, --until, --agent\n2\n',
    );
    expect(stage.given(1, 'skill')).toMatch(/^# Drive Ralph[^]*\n0\n$/);
    expect(stage.given(1, 'help')).toMatch(/^# Limits\n[^]*\n0\n$/);
    expect(stage.given(1, 'pause')).toContain('ralph pause does not work inside a sandbox; only ralph run,');
    expect(stage.given(1, 'stop')).toContain(
      '"it" is the loop of this run; ralph stop works for its child loops',
    );
    expect(stage.given(1, 'other')).toContain(
      'a sandbox has only its own loop, "it", and the child loops that it has started; got "other"',
    );
    expect(JSON.parse(stage.given(1, 'json'))).toMatchObject({
      name: 'it',
      status: 'running',
      sandbox: true,
    });
    expect(stage.given(1, 'after')).toContain('Status: running');
    expect(stderr.match(/a request from the sandbox is unreadable/g)).toHaveLength(3);
    expect(stage.given(2, 'stdin')).toContain('look at the tests');
  });

  it('gets SIGTERM and its grace, keeps working without its owner, and is found again', async () => {
    const stage = sandboxed({}, openStage);
    stage.plans(
      1,
      `trap 'sleep 0.3; echo late >"$FAKE_CALL/late"; exit 9' TERM\n${waitFor()}\n${waitFor('never')}`,
    );
    const first = stage.starts('-p', 'a task', '-m', '1');
    await stage.waitForCall(1);
    await stage.waitForEvents('run.started');
    first.signal('SIGKILL');
    await first.ended;
    const resumed = stage.ralph('resume', 'it');
    await resumed.until('reattached');
    expect(resumed.stderr).toContain('sandbox: agent; checks run outside');
    stage.release();
    expect((await stage.ralph('stop', 'it', '--now').ended).code).toBe(0);
    await resumed.ended;
    expect(stage.given(1, 'late')).toBe('late\n');
    expect(stage.calls).toBe(1);
    expect(readFileSync(stage.file('runs/0001/exit'), 'utf8')).toBe('143\n');
  });

  it('has no network if the user says so, and a repository cannot weaken what the user asks for', async () => {
    const stage = sandboxed({ network: false });
    const server = createServer((socket) => socket.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const secret = inHome(stage, 'secret', 'as it was\n');
    const connect = (name: string): string =>
      `require('net').connect(${port}, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1)); // ${name}`;
    const lines = {
      network: `${process.execPath} -e "${connect('agent')}"`,
      write: `echo x >${secret}`,
    };
    stage.settings({ sandbox: { write: ['~'], network: true } });
    stage.plans(1, tries(lines));
    const { stderr } = await stage.run('-p', 'a task', '-m', '1');
    expect(succeeded(stage, Object.keys(lines))).toEqual([]);
    expect(stderr).toContain('sandbox.write of this repository is not used (~)');
    stage.settings({ sandbox: false });
    const config = await stage.ralph('config', '--json').ended;
    expect(JSON.parse(config.stdout)).toMatchObject({
      sandbox: { value: true, origin: 'user' },
      'sandbox.network': { value: false },
    });
    expect(JSON.parse((await stage.ralph('config', '--json', '--no-sandbox').ended).stdout)).toMatchObject({
      sandbox: { value: false, origin: 'flag' },
    });
  });

  it('runs checks in it with checks: true only', async () => {
    const stage = sandboxed();
    const outside = inHome(stage, 'outside', '');
    stage.plans('default', 'echo "<promise>DONE</promise>"');
    const args = ['-p', 'a task', '-m', '1', '--check', `echo x >${outside}`];
    expect((await stage.run(...args)).code).toBe(0);
    settingsOfUser(stage, { write: [stage.plan, dirname(stage.agent)], checks: true });
    const { code, stderr } = await stage.run(...args, '--fresh');
    expect(code).toBe(1);
    expect(stderr).toContain('sandbox: agent and checks');
    expect(stderr).toContain('Read-only file system');
  });

  it('does not start where bubblewrap is missing or not permitted, and doctor says so', async () => {
    const stage = openLoadedStage({ parent: onDisk() });
    // A root without bubblewrap, or with one that may not make namespaces.
    const inside = (fake: string, ...args: readonly string[]) =>
      stage.shell(
        `exec bwrap --dev-bind / / --ro-bind ${fake} /usr/bin/bwrap -- ${process.execPath} ${stage.main} ${args.join(' ')}`,
      ).ended;
    const refused = join(dirname(stage.agent), 'refused');
    writeFileSync(refused, '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n', {
      mode: 0o755,
    });
    const { code, stderr } = await inside(refused, 'run', 'task', '--sandbox', '--', '/bin/true');
    expect(code).toBe(2);
    expect(stderr).toContain(
      'cannot start the sandbox: /usr/bin/bwrap cannot make a sandbox here: No permissions to create new namespace; ',
    );
    expect(stage.loops).toEqual([]);
    const doctor = await inside(refused, 'doctor', '--json');
    expect(doctor.stdout).toContain('No permissions to create new namespace');
  });

  it('refuses an agent command that it hides, before there is a loop', async () => {
    const stage = openLoadedStage({ parent: onDisk() });
    const { code, stderr } = await stage.run('-p', 'a task', '--sandbox');
    expect(code).toBe(2);
    expect(stderr).toBe(
      `ralph: error: the sandbox hides the agent command ${stage.agent}; install it elsewhere, or add its folder to sandbox.write\n`,
    );
    expect(stage.loops).toEqual([]);
  });
});
