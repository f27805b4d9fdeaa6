import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { claude } from './claude/install.ts';
import { codex } from './codex/install.ts';
import type { HostProgram, Parts, Place } from './host-program.ts';
import { install, installedIn, uninstall } from './install.ts';
import { opencode } from './opencode/install.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ralph in'stall-"));
  vi.stubEnv('RALPH_STATE', join(folder, 'state'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

const RALPH = fileURLToPath(new URL('../../', import.meta.url));
const at = (path: string): string => join(folder, path);
const write = (path: string, text: string | Buffer): void => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};
const read = (path: string): string => readFileSync(at(path), 'utf8');

function parts(program: HostProgram, more: Partial<Place> = {}): Parts {
  const place: Place = {
    scope: 'user',
    workspace: at('work'),
    home: at('home'),
    env: {},
    ralph: RALPH,
    ...more,
  };
  mkdirSync(place.workspace, { recursive: true });
  mkdirSync(place.home, { recursive: true });
  return program.parts(place);
}

/** Every file and link below the folder, with its content and mode. */
function snapshot(): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('state'))
    .toSorted()
    .flatMap((name) => {
      const found = lstatSync(at(name));
      if (found.isDirectory()) return [];
      const text = found.isSymbolicLink() ? 'link' : readFileSync(at(name), 'latin1');
      return [`${name} ${(found.mode & 0o777).toString(8)} ${text}`];
    });
}

const SETTINGS = 'home/.claude/settings.json';
const ODD: readonly (readonly [string, string])[] = [
  ['with odd blanks', '{\r\n\t"a" : {"b":[ ]},\r\n\t"z":1 }'],
  [
    'with hooks of others',
    '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}], "Q": []}}\n',
  ],
  ['that are empty', ''],
  ['that have only blanks', ' \n'],
  ['that are an empty object', '{ }\n'],
  ['with empty hooks', '{\n  "hooks": {\n    "Stop": []\n  }\n}\n'],
  ['with a byte order mark', '\uFEFF{}'],
];
const HOOKED: readonly [string, HostProgram, string, string][] = [
  ['claude', claude, SETTINGS, 'work/.claude/settings.json'],
  ['codex', codex, 'home/.codex/hooks.json', 'work/.codex/hooks.json'],
];

describe.each(HOOKED)('the settings of %s', (_, program, user, project) => {
  it.each(program === claude ? ODD : ODD.slice(0, 2))('are put back byte for byte, %s', async (__, text) => {
    write(user, text);
    chmodSync(at(user), 0o640);
    const before = snapshot();
    const { changes } = await install(parts(program), false);
    const { backup } = changes.find(({ path }) => path === at(user)) ?? {};
    expect(readFileSync(backup ?? '', 'utf8')).toBe(text);
    expect(statSync(backup ?? '').mode & 0o777).toBe(0o640);
    expect(statSync(at(user)).mode & 0o777).toBe(0o640);
    expect(installedIn(parts(program))).toBe(at(user));
    const installed = snapshot();
    expect((await install(parts(program), false)).changes).toEqual([]);
    expect(snapshot()).toEqual(installed);
    await uninstall(parts(program), false);
    expect(snapshot()).toEqual(before);
    expect((await uninstall(parts(program), false)).changes).toEqual([]);
  });

  it.each(['user', 'project'] as const)(
    'of the %s are created where there are none, and removed again',
    async (scope) => {
      const where = parts(program, { scope });
      await install(where, false);
      expect(existsSync(at(scope === 'user' ? user : project))).toBe(true);
      await uninstall(where, false);
      expect(snapshot()).toEqual([]);
      expect(readdirSync(at('work'))).toEqual([]);
    },
  );

  it('keep what was edited around the hooks, with a backup', async () => {
    write(user, '{\n  "a": 1\n}\n');
    await install(parts(program), false);
    write(
      user,
      read(user)
        .replace('"a": 1', '"a": 2')
        .replace(/\n\}\n$/, ',\n  "z": 3\n}\n'),
    );
    const { changes } = await uninstall(parts(program), false);
    expect(read(user)).toBe('{\n  "a": 2,\n  "z": 3\n}\n');
    expect(readFileSync(changes[0]?.backup ?? '', 'utf8')).toContain('ralph-hook.sh');
  });

  it('are updated if another installation has written them, and then put back to the first backup', async () => {
    write(user, '{"a":1}');
    const before = snapshot();
    await install(parts(program), false);
    const other = at('other');
    mkdirSync(other);
    for (const name of ['plugins', 'dist']) symlinkSync(join(RALPH, name), join(other, name));
    await install(parts(program, { ralph: other }), false);
    expect(read(user)).toContain('/other/plugins/');
    expect(read(user)).not.toContain(JSON.stringify(RALPH).slice(1, -1));
    await uninstall(parts(program, { ralph: other }), false);
    rmSync(other, { recursive: true });
    expect(snapshot()).toEqual(before);
  });

  it('change in nothing with a dry run', async () => {
    write(user, '{"a":1}');
    const before = snapshot();
    const { changes } = await install(parts(program), true);
    expect(changes.map(({ path }) => path)).toContain(at(user));
    expect(snapshot()).toEqual(before);
    await install(parts(program), false);
    const installed = snapshot();
    expect((await uninstall(parts(program), true)).changes.length).toBeGreaterThan(1);
    expect(snapshot()).toEqual(installed);
  });

  it.each([
    ['invalid', () => write(user, '{"a":1,}'), 'invalid JSON'],
    ['not UTF-8', () => write(user, Buffer.from([0x7b, 0xff, 0x7d])), 'it is not UTF-8 text'],
    [
      'read-only',
      () => {
        write(user, '{}');
        chmodSync(at(user), 0o444);
      },
      'it is read-only',
    ],
    ['a folder', () => mkdirSync(at(user), { recursive: true }), 'it is not a regular file'],
    [
      'a link out of the home folder',
      () => {
        write('elsewhere/settings.json', '{}');
        mkdirSync(dirname(at(user)), { recursive: true });
        symlinkSync(at('elsewhere/settings.json'), at(user));
      },
      'it leads to ',
    ],
    [
      'a link to nothing',
      () => {
        mkdirSync(dirname(at(user)), { recursive: true });
        symlinkSync('nowhere', at(user));
      },
      'it is a link to nowhere, which does not exist',
    ],
  ])('are left alone if they are %s, and so is everything else', async (__, prepare, message) => {
    prepare();
    const before = snapshot();
    await expect(install(parts(program), false)).rejects.toThrow(message);
    await expect(install(parts(program), false)).rejects.toThrow('nothing was changed');
    expect(snapshot()).toEqual(before);
  });

  it('are edited behind a link within the home folder, which stays a link', async () => {
    write('home/dotfiles/it.json', '{"a":1}');
    mkdirSync(dirname(at(user)), { recursive: true });
    symlinkSync('../dotfiles/it.json', at(user));
    const before = snapshot();
    await install(parts(program), false);
    expect(lstatSync(at(user)).isSymbolicLink()).toBe(true);
    expect(read('home/dotfiles/it.json')).toContain('ralph-hook.sh');
    await uninstall(parts(program), false);
    expect(snapshot()).toEqual(before);
  });

  it('of a project do not lead out of it', async () => {
    mkdirSync(at('work'), { recursive: true });
    mkdirSync(at('home'), { recursive: true });
    symlinkSync(at('home'), dirname(at(project)));
    await expect(install(parts(program, { scope: 'project' }), false)).rejects.toThrow('it leads to ');
    expect(readdirSync(at('home'))).toEqual([]);
  });

  it('lose nothing if two install at once', async () => {
    write(user, '{"a":1}');
    const both = await Promise.all([install(parts(program), false), install(parts(program), false)]);
    expect(both.filter(({ changes }) => changes.length > 0)).toHaveLength(1);
    expect(JSON.parse(read(user))).toMatchObject({ a: 1 });
    await uninstall(parts(program), false);
    expect(read(user)).toBe('{"a":1}');
  });
});

describe('the hooks', () => {
  it('of Claude Code are in exec form, with the path of the script as one word', async () => {
    await install(parts(claude), false);
    const command = join(RALPH, 'plugins/claude-code/hooks/ralph-hook.sh');
    expect(JSON.parse(read(SETTINGS))).toMatchObject({
      hooks: { Stop: [{ hooks: [{ type: 'command', command, args: ['claude'] }] }] },
    });
    expect(read(SETTINGS)).not.toContain('CLAUDE_PLUGIN_ROOT');
  });

  it('of Codex are command lines that a shell takes apart as they are meant', async () => {
    const odd = at("a 'b' $c");
    mkdirSync(join(odd), { recursive: true });
    symlinkSync(join(RALPH, 'plugins'), join(odd, 'plugins'));
    await install(parts(codex, { ralph: odd }), false);
    const script = join(odd, 'plugins/codex/hooks/ralph-hook.sh').replaceAll("'", String.raw`'\''`);
    expect(JSON.parse(read('home/.codex/hooks.json'))).toMatchObject({
      hooks: { Stop: [{ hooks: [{ command: `sh '${script}' codex` }] }] },
    });
    expect(read('home/.codex/hooks.json')).not.toContain('PLUGIN_ROOT');
  });

  it('warn about what keeps them from running', () => {
    write(
      SETTINGS,
      '{"disableAllHooks": true, "enabledPlugins": {"ralph@ralph-until-done": true, "ralph@ralph-loop": true}}',
    );
    expect(parts(claude).warnings).toEqual([
      `hooks are switched off: ${at(SETTINGS)} has "disableAllHooks": true; remove it to use /ralph`,
      expect.stringContaining('disable one: claude plugin disable ralph@ralph-until-done'),
      expect.stringContaining('disable one: claude plugin disable ralph@ralph-loop'),
    ]);
    write('home/.codex/config.toml', '[features]\nhooks = false # off\n');
    expect(parts(codex).warnings).toEqual([expect.stringContaining('hooks are switched off in ')]);
  });

  it('are where the host program looks, if its folder is elsewhere', async () => {
    const env = { CLAUDE_CONFIG_DIR: at('c c'), CODEX_HOME: at('d d'), XDG_CONFIG_HOME: at('x x') };
    await Promise.all([claude, codex, opencode].map((program) => install(parts(program, { env }), false)));
    expect(readdirSync(at('home'))).toEqual([]);
    expect(existsSync(at('c c/settings.json'))).toBe(true);
    expect(existsSync(at('d d/hooks.json'))).toBe(true);
    expect(existsSync(at('x x/opencode/plugin/ralph.js'))).toBe(true);
  });
});

describe('the files of commands', () => {
  const COMMAND = 'home/.claude/commands/ralph.md';

  it('of others are never replaced, and the settings stay as they are', async () => {
    write(COMMAND, 'mine\n');
    write(SETTINGS, '{}');
    const before = snapshot();
    await expect(install(parts(claude), false)).rejects.toThrow(
      `${at(COMMAND)} exists and was not written by Ralph; rename or remove it first`,
    );
    expect(snapshot()).toEqual(before);
    await uninstall(parts(claude), false);
    expect(snapshot()).toEqual(before);
  });

  it('that were edited stay, and the rest goes', async () => {
    await install(parts(claude), false);
    write(COMMAND, `${read(COMMAND)}more\n`);
    await expect(install(parts(claude), false)).rejects.toThrow('was edited since Ralph wrote it');
    const { left } = await uninstall(parts(claude), false);
    expect(left).toEqual([at(COMMAND)]);
    expect(readdirSync(at('home/.claude/commands'))).toEqual(['ralph.md']);
    expect(existsSync(at(SETTINGS))).toBe(false);
  });

  it('of another version are replaced', async () => {
    await install(parts(claude), false);
    const current = read(COMMAND);
    const other = at('other');
    mkdirSync(join(other, 'plugins/claude-code/commands'), { recursive: true });
    symlinkSync(join(RALPH, 'plugins/claude-code/hooks'), join(other, 'plugins/claude-code/hooks'));
    writeFileSync(join(other, 'plugins/claude-code/commands/ralph.md'), '---\nname: ralph\n---\nOld.\n');
    await install(parts(claude, { ralph: other }), false);
    expect(read(COMMAND)).toContain('Old.');
    await install(parts(claude), false);
    expect(read(COMMAND)).toBe(current);
  });
});

describe('the plugin of opencode', () => {
  const PLUGIN = 'home/.config/opencode/plugin/ralph.js';

  it('is one file that knows how to call Ralph, and is removed again', async () => {
    await install(parts(opencode), false);
    expect(read(PLUGIN)).toContain(
      `\nconst RALPH_COMMAND = ${JSON.stringify([process.execPath, join(RALPH, 'dist/cli/main.js')])};\n`,
    );
    expect((await install(parts(opencode), false)).changes).toEqual([]);
    expect(installedIn(parts(opencode))).toBe(at(PLUGIN));
    await uninstall(parts(opencode), false);
    expect(snapshot()).toEqual([]);
  });

  it('stays in the other folder of plugins, because opencode loads every copy', async () => {
    await install(parts(opencode), false);
    const text = read(PLUGIN);
    rmSync(at(PLUGIN));
    write('home/.config/opencode/plugins/ralph.js', text);
    expect((await install(parts(opencode), false)).changes).toEqual([]);
    await uninstall(parts(opencode), false);
    expect(snapshot()).toEqual([]);
  });

  it('leaves a plugin of others alone', async () => {
    write(PLUGIN, 'export default {};\n');
    await expect(install(parts(opencode), false)).rejects.toThrow('was not written by Ralph');
    await uninstall(parts(opencode), false);
    expect(read(PLUGIN)).toBe('export default {};\n');
  });
});
