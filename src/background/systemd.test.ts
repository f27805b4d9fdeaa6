import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemd, unitText } from './systemd.ts';

const plain = {
  argv: ['/usr/bin/node', '/opt/ralph/main.js', 'daemon', 'run', '--stay'],
  env: { PATH: '/bin' },
} as const;
const lineOf = (text: string, name: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}=`))
    .join('\n');

describe('the unit', () => {
  it('starts the daemon again after a failure, and signals only the daemon', () => {
    const text = unitText(plain);
    expect(lineOf(text, 'ExecStart')).toBe(
      'ExecStart="/usr/bin/node" "/opt/ralph/main.js" "daemon" "run" "--stay"',
    );
    expect(lineOf(text, 'Environment')).toBe('Environment="PATH=/bin"');
    for (const line of ['KillMode=process', 'Restart=on-failure', 'Type=exec', 'WantedBy=default.target'])
      expect(text.split('\n')).toContain(line);
  });

  it('passes blanks, quotes, percent and dollar signs and line breaks unchanged', () => {
    const text = unitText({
      argv: ['/a b/50%/$HOME/node', '/it\'s/"q"/c:\\d/$x/%h\n/main.js'],
      env: { RALPH_STATE: '/s t/$x/100%"' },
    });
    // In the path of the program systemd replaces specifiers, but no variables.
    expect(lineOf(text, 'ExecStart')).toBe(
      String.raw`ExecStart="/a b/50%%/$HOME/node" "/it's/\"q\"/c:\\d/$$x/%%h\x0a/main.js"`,
    );
    expect(lineOf(text, 'Environment')).toBe(String.raw`Environment="RALPH_STATE=/s t/$x/100%%\""`);
  });

  it('starts a program through a shell if systemd would not accept its path', () => {
    expect(lineOf(unitText({ argv: ["/o'brien/node", 'main.js'], env: {} }), 'ExecStart')).toBe(
      String.raw`ExecStart="/bin/sh" "-c" "exec \"$$0\" \"$$@\"" "/o'brien/node" "main.js"`,
    );
  });

  it('belongs into XDG_CONFIG_HOME, or into .config of the home folder', () => {
    const file = (XDG_CONFIG_HOME: string) => systemd(plain, { XDG_CONFIG_HOME }, '/home/me').file;
    expect(file('/elsewhere')).toBe('/elsewhere/systemd/user/ralph.service');
    expect([file(''), file('relative')]).toEqual(
      Array.from({ length: 2 }, () => '/home/me/.config/systemd/user/ralph.service'),
    );
  });
});

describe('systemd-analyze verify', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ralph-unit-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** What it says about a unit. It reads the file without a running systemd, but wants a folder for one. */
  const verify = (text: string) => {
    const file = join(folder, 'ralph.service');
    writeFileSync(file, text);
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_RUNTIME_DIR: folder };
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--user', file], {
      env,
      encoding: 'utf8',
    });
    return { status, said: `${stdout}${stderr}` };
  };

  it('accepts the unit, also with special characters', { tags: ['systemd-analyze'] }, () => {
    for (const name of ['plain', 'a b $HOME 50%h', 'it\'s "quoted" \\ and\nlong']) {
      mkdirSync(join(folder, name));
      const node = join(folder, name, 'node');
      symlinkSync(process.execPath, node);
      const env = { PATH: '/usr/bin:/bin', RALPH_STATE: join(folder, name) };
      const unit = unitText({ argv: [node, join(folder, name, 'main.js'), 'daemon', 'run', '--stay'], env });
      expect(verify(unit)).toEqual({ status: 0, said: '' });
      // It reports a key that does not exist, and a program that does not exist at the path as it reads it.
      expect(verify(unit.replace('KillMode', 'KillMood')).said).toContain('KillMood');
      rmSync(node);
      if (name.includes("'")) continue;
      expect(verify(unit).said).toContain(`Command ${node} is not executable`);
    }
  });
});
