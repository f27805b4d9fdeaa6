/** A repository asks before it runs commands: consent to settings files, without a terminal. */
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const done = "echo '<promise>DONE</promise>'";

/** Settings that leave a file behind for everything that they execute. */
function hostile(stage: Stage): object {
  const leaves = (name: string): string => `echo ran > ${join(stage.plan, name)}`;
  stage.write('agent.sh', `#!/bin/sh\n${leaves('agent-ran')}\n${done}\n`);
  execFileSync('chmod', ['+x', stage.path('agent.sh')]);
  return {
    agent: { command: './agent.sh' },
    checks: [{ command: leaves('check-ran') }],
    baseline: true,
    worktree: true,
    setup: [leaves('setup-ran')],
    scm: { command: 'sh', tasks: [`-c '${leaves('scm-ran')}'`] },
  };
}

const ran = (stage: Stage): readonly string[] =>
  readdirSync(stage.plan).filter((name) => name.endsWith('-ran'));

/** A run with all that the settings name. */
const run = (stage: Stage, ...args: readonly string[]) =>
  stage.ralph('run', '--name', 'it', '-p', 'work', '-m', '1', ...args).ended;

function untrusted(settings?: object): Stage {
  const stage = openLoadedStage({ trust: false });
  if (settings !== undefined) stage.settings(settings);
  stage.plans('default', done);
  return stage;
}

/** The trust files of a stage. */
function trustFiles(stage: Stage): readonly string[] {
  const folder = join(stage.env['XDG_STATE_HOME'] ?? '', 'ralph', 'trust');
  return existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
}

describe('settings that are not trusted', () => {
  it('run nothing: neither agent nor check, set-up or SCM command', async () => {
    const stage = untrusted();
    stage.settings(hostile(stage));
    for (const command of ['run', 'loop']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, stdout, stderr } = await stage.ralph(command, 'work', '-m', '1').ended;
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('.ralph/settings.json');
      expect(stderr).toContain('ralph trust');
      expect(stderr).toContain('RALPH_TRUST=1');
    }
    expect(ran(stage)).toEqual([]);
    expect(stage.loops).toEqual([]);
    // The same settings do run once they are trusted.
    expect((await run(stage, '--trust', '--no-worktree')).code).not.toBe(2);
    expect(ran(stage)).toEqual(expect.arrayContaining(['agent-ran', 'check-ran']));
  });

  it('need no consent if they only concern the display', async () => {
    const display = {
      emoji: false,
      timestamps: true,
      outputLines: 1,
      outputChars: 9,
      streamAgentOutput: true,
    };
    const stage = untrusted({ $schema: 'x', ...display });
    stage.settings(display, 'settings.local.json');
    expect((await stage.run('-p', 'work')).code).toBe(0);
    expect(trustFiles(stage)).toEqual([]);
    stage.settings({ ...display, maxIterations: 2 }, 'settings.local.json');
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(2);
    expect(stderr).toContain('.ralph/settings.local.json of');
    expect(stderr).not.toContain('.ralph/settings.json');
  });

  it('need consent even if the command line replaces them, because it is for the whole file', async () => {
    const stage = untrusted({ checks: [{ command: 'true' }] });
    expect((await stage.run('-p', 'work', '--check', 'true')).code).toBe(2);
  });

  it('do not stop ls, status, config, doctor and trust --show, and config and doctor mention them', async () => {
    const stage = untrusted();
    stage.settings(hostile(stage));
    for (const command of ['ls', 'status']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { stderr } = await stage.ralph(command).ended;
      expect(stderr).not.toContain('trust');
    }
    expect((await stage.ralph('config').ended).stdout).toContain('.ralph/settings.json is not trusted yet');
    const json = await stage.ralph('config', '--json').ended;
    expect(json.stderr).toContain('note: .ralph/settings.json is not trusted yet');
    expect(json.stdout).not.toContain('trust');
    const { stdout } = await stage.ralph('doctor', '--json').ended;
    expect(JSON.parse(stdout)).toContainEqual(
      expect.objectContaining({ what: 'settings', state: 'warning' }),
    );
    expect((await stage.ralph('trust', '--show').ended).stdout).toMatch(/agent\.command +\.\/agent\.sh\n/);
    expect(ran(stage)).toEqual([]);
    await stage.ralph('trust').ended;
    expect((await stage.ralph('config').ended).stdout).toContain('.ralph/settings.json is trusted');
  });

  it('are not used from an outer folder, so these need no consent', async () => {
    const stage = untrusted();
    stage.settings(hostile(stage));
    stage.write('below/file', '');
    const inner = stage.ralph('run', '-p', 'work', '--cwd', 'below', '--', stage.agent);
    expect((await inner.ended).code).toBe(0);
    expect(ran(stage)).toEqual([]);
  });
});

describe('consent', () => {
  it('is kept once per workspace and normalised content, readable for this user only', async () => {
    const stage = untrusted({ checks: [{ command: 'true' }], maxIterations: 3 });
    const trusted = await stage.ralph('trust').ended;
    expect(trusted.code).toBe(0);
    expect(trusted.stdout).toMatch(/checks\.command +true\n/);
    expect((await stage.run('-p', 'work')).code).toBe(0);
    const [file = ''] = trustFiles(stage);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      workspace: stage.workspace,
      consents: [{ content: { checks: [{ command: 'true' }], maxIterations: 3 } }],
    });
    // Layout, order and display settings make no difference.
    stage.settings('{"emoji":false,"maxIterations":3,"checks":[{"command":"true"}]}');
    expect((await stage.run('-p', 'work', '--fresh')).code).toBe(0);
    // Neither do aliases, unless they choose a preset.
    const aliases = { maximumIterations: 3, guardrails: [{ command: 'true' }] };
    stage.settings({ preset: 'default', ...aliases });
    await stage.ralph('trust').ended;
    stage.settings({ preset: 'default', maxIterations: 3, guardrails: [{ command: 'true' }] });
    expect((await stage.run('-p', 'work', '--fresh')).code).toBe(0);
    stage.settings(aliases);
    expect((await stage.run('-p', 'work', '--fresh')).code).toBe(2);
    stage.settings({ maxIterations: 3, checks: [{ command: 'true' }] });
    // The same content in another workspace does.
    renameSync(stage.path('.ralph'), join(stage.workspace, 'other-ralph'));
    mkdirSync(stage.path('other'));
    renameSync(join(stage.workspace, 'other-ralph'), stage.path('other/.ralph'));
    const other = stage.ralph('run', '-p', 'work', '--cwd', 'other', '--', stage.agent);
    const { code, stderr } = await other.ended;
    expect(code).toBe(2);
    expect(stderr).toContain(`ralph trust --cwd ${stage.path('other')}`);
  });

  it('does not cover a change, but still covers the content before it', async () => {
    const stage = untrusted({ checks: [{ command: 'true' }] });
    await stage.ralph('trust').ended;
    stage.settings({ checks: [{ command: 'true' }, { command: `touch ${stage.plan}/changed-ran` }] });
    expect((await stage.run('-p', 'work')).code).toBe(2);
    expect(ran(stage)).toEqual([]);
    const { stdout } = await stage.ralph('trust', '--show').ended;
    expect(stdout).toContain('have changed since you trusted them');
    expect(stdout).toMatch(/\+ checks\.command +touch /);
    expect(stdout).not.toMatch(/[-+] checks\.command +true/);
    stage.settings({ checks: [{ command: 'true' }] });
    expect((await stage.run('-p', 'work')).code).toBe(0);
  });

  it('can be taken back', async () => {
    const stage = untrusted({ maxIterations: 2 });
    await stage.ralph('trust').ended;
    expect((await stage.ralph('trust', '--revoke').ended).stdout).toContain('no longer trusted');
    expect((await stage.run('-p', 'work')).code).toBe(2);
    expect((await stage.ralph('trust', '--revoke').ended).stdout).toContain('nothing to revoke');
    expect((await stage.ralph('trust', '--revoke', '--show').ended).code).toBe(2);
  });

  it('is given by --trust and by RALPH_TRUST=1, in CI and with --json, and by no other value', async () => {
    const stage = untrusted({ maxIterations: 2 });
    stage.env['CI'] = 'true';
    stage.env['RALPH_TRUST'] = '0';
    expect((await stage.run('-p', 'work', '--json')).code).toBe(2);
    expect((await stage.run('-p', 'work', '--json', '--trust')).code).toBe(0);
    await stage.ralph('trust', '--revoke').ended;
    stage.env['RALPH_TRUST'] = '1';
    expect((await stage.run('-p', 'work', '--fresh')).code).toBe(0);
  });

  it('is given by what is written on the command line: --check, -c FILE and a command', async () => {
    const stage = untrusted();
    stage.write('loop.yaml', `ralph_loop:\n  checks: ["touch ${stage.plan}/check-ran"]\n`);
    stage.plans('default', 'echo COMPLETE');
    const { code } = await stage.ralph('loop', 'work', '-c', 'loop.yaml', '--', stage.agent).ended;
    expect(code).toBe(0);
    expect(ran(stage)).toEqual(['check-ran']);
    stage.plans('default', done);
    expect((await stage.run('-p', 'work', '--check', 'true')).code).toBe(0);
  });

  it('is given by ralph init for what it wrote, and for nothing else', async () => {
    const stage = untrusted();
    stage.installs('claude');
    stage.write('package.json', JSON.stringify({ scripts: { test: 'true' } }));
    for (const more of [[], ['--preset', 'ralph-cli', '--force']]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await stage.ralph('init', '--yes', ...more).ended).code).toBe(0);
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect((await stage.ralph('config').ended).stdout).toContain('.ralph/settings.json is trusted');
    }
    stage.settings({ maxIterations: 2 }, 'settings.local.json');
    expect((await stage.ralph('init', '--yes', '--force').ended).code).toBe(0);
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(2);
    expect(stderr).toContain('.ralph/settings.local.json of');
    expect(stderr).not.toContain('.ralph/settings.json');
  });

  it('is not asked for by resume, which uses what the loop was created with', async () => {
    const stage = untrusted({ maxIterations: 1, checks: [{ command: 'test -e ok' }] });
    stage.plans('default', `touch made; ${done}`);
    expect((await stage.run('-p', 'work', '--trust')).code).toBe(1);
    stage.settings({ checks: [{ command: `touch ${stage.plan}/changed-ran` }] });
    await stage.ralph('trust', '--revoke').ended;
    stage.plans('default', `touch ok; ${done}`);
    expect((await stage.ralph('resume', 'it', '-m', '2').ended).code).toBe(0);
    expect(ran(stage)).toEqual([]);
  });

  it('is not believed from a state folder inside the workspace, which the repository may contain', async () => {
    const stage = untrusted({ maxIterations: 2 });
    stage.env['XDG_STATE_HOME'] = stage.path('state');
    expect((await stage.ralph('trust').ended).stderr).toContain('is inside the workspace');
    expect((await stage.run('-p', 'work')).code).toBe(2);
    expect((await stage.run('-p', 'work', '--trust')).code).toBe(0);
  });
});

describe('an agent', () => {
  it('does not see RALPH_TRUST, and neither do checks and the kept environment', async () => {
    const stage = openLoadedStage();
    stage.settings({ checks: [{ command: 'env > check-env' }] });
    stage.plans('default', `grep -r RALPH_TRUST "$XDG_STATE_HOME/ralph/kept" > kept; ${done}`);
    expect((await stage.run('-p', 'work')).code).toBe(0);
    expect(stage.given(1, 'env')).toContain('FAKE_PLAN=');
    for (const text of [stage.given(1, 'env'), stage.read('check-env'), stage.read('kept')])
      expect(text).not.toContain('RALPH_TRUST');
  });

  it('cannot trust settings that it wrote, whatever it passes', async () => {
    const stage = openLoadedStage();
    const inner = '$RALPH run -p inner --name inner --';
    const attempts = [
      `RALPH_TRUST=1 ${inner} true`,
      `${inner.replace(' --', ' --trust --')} true`,
      '$RALPH trust',
    ];
    const settings = JSON.stringify({
      setup: ['true'],
      checks: [{ command: 'touch "$FAKE_PLAN/inner-ran"' }],
    });
    const lines = attempts.map((line) => `${line} 2>>refusals; echo $? >>codes`);
    stage.plans('default', [`echo '${settings}' > .ralph/settings.json`, ...lines, done].join('\n'));
    stage.settings({ maxIterations: 2 });
    const { code } = await stage.shell(`$RALPH run -p work --name it -- ${stage.agent}`).ended;
    expect(code).toBe(0);
    expect(stage.read('codes')).toBe('2\n2\n2\n');
    expect(stage.read('refusals')).toContain('an agent cannot trust settings');
    expect(ran(stage)).toEqual([]);
  });

  it('can start children with the settings that are trusted, also from a worktree', async () => {
    const stage = openLoadedStage();
    stage.settings({ maxFailures: 3 });
    stage.git('add', '--force', '.ralph/settings.json');
    stage.git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'settings');
    stage.git('config', 'user.name', 'Some Body');
    stage.git('config', 'user.email', 'some@body');
    stage.plans(1, `$RALPH run -p inner --name inner -- ${stage.agent} 2> refusal || exit 9\n${done}`);
    stage.plans('default', done);
    const line = `$RALPH run -p work --name it --worktree -m 1 -- ${stage.agent}`;
    const { code, stderr } = await stage.shell(line).ended;
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(stage.calls).toBe(2);
  });
});

describe('a settings file that is no regular file', () => {
  it.each([
    ['a link', (path: string) => symlinkSync('elsewhere.json', path), 'it is a symbolic link'],
    ['a dangling link', (path: string) => symlinkSync('/nowhere', path), 'it is a symbolic link'],
    ['a FIFO', (path: string) => void execFileSync('mkfifo', [path]), 'it is not a regular file'],
    ['a huge file', (path: string) => writeFileSync(path, ' '.repeat(1024 * 1024 + 1)), 'maximum 1048576'],
  ])('is refused without waiting: %s', async (_, make, reason) => {
    const stage = openLoadedStage();
    stage.settings({}, 'settings.local.json');
    stage.write('.ralph/elsewhere.json', '{}');
    make(stage.path('.ralph/settings.json'));
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(2);
    expect(stderr).toContain('cannot read .ralph/settings.json');
    expect(stderr).toContain(reason);
  });

  it('is refused in a .ralph that is a link', async () => {
    const stage = openLoadedStage();
    stage.write('elsewhere/settings.json', '{}');
    rmSync(stage.path('.ralph'), { recursive: true, force: true });
    symlinkSync('elsewhere', stage.path('.ralph'));
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(2);
    expect(stderr).toContain('.ralph is a symbolic link');
  });

  it('is refused if it hides a value behind __proto__', async () => {
    const stage = untrusted();
    stage.settings('{"emoji": false, "__proto__": {"maxIterations": 2}}');
    const { code, stderr } = await stage.run('-p', 'work');
    expect(code).toBe(2);
    expect(stderr).toContain('unknown key "__proto__"');
  });
});

describe('a marker file', () => {
  it('must be in the workspace, also behind links', async () => {
    const stage = openLoadedStage();
    const outside = join(stage.plan, 'precious');
    writeFileSync(outside, 'text');
    symlinkSync(stage.plan, stage.path('linked'));
    for (const file of [outside, '../plan/precious', 'linked/precious']) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { code, stderr } = await stage.run('-p', 'work', '--done-file', file);
      expect(code).toBe(2);
      expect(stderr).toContain('outside of the workspace');
    }
    stage.settings({ doneFile: outside });
    expect((await stage.run('-p', 'work')).code).toBe(2);
    expect(readFileSync(outside, 'utf8')).toBe('text');
    expect(stage.calls).toBe(0);
    stage.plans('default', 'touch sub/FINISHED');
    mkdirSync(stage.path('sub'));
    stage.settings({ doneFile: stage.path('sub/FINISHED') });
    expect((await stage.run('-p', 'work')).code).toBe(0);
  });
});
