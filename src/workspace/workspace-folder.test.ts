import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, afterEach } from 'vitest';
import {
  copyToWorkspaceFolder,
  putInWorkspaceFolder,
  prepareFolder,
  writeSettings,
} from './workspace-folder.ts';
import { WorkspaceFolder, LoopFolder } from '../home/home.ts';

let workspaceFolder: WorkspaceFolder;
let outside: string;
beforeEach(() => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ralph-folder-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  workspaceFolder = new WorkspaceFolder(join(root, 'workspace'), 'it');
  mkdirSync(workspaceFolder.path, { recursive: true });
  outside = join(root, 'outside');
  mkdirSync(outside);
});

describe('a workspace folder', () => {
  it('S1.60 moves a link or a file aside that stands in the place of a folder', () => {
    symlinkSync(outside, workspaceFolder.runs);
    putInWorkspaceFolder(workspaceFolder, workspaceFolder.prompt('1.1'), 'first');
    expect(readlinkSync(`${workspaceFolder.runs}.aside-1`)).toBe(outside);
    rmSync(workspaceFolder.run('1.1'), { recursive: true });
    writeFileSync(workspaceFolder.run('1.1'), 'a file');
    putInWorkspaceFolder(workspaceFolder, workspaceFolder.prompt('1.1'), 'second');
    expect(readFileSync(`${workspaceFolder.run('1.1')}.aside-1`, 'utf8')).toBe('a file');
    expect(readFileSync(workspaceFolder.prompt('1.1'), 'utf8')).toBe('second');
    expect(readdirSync(outside)).toEqual([]);
  });

  it('S1.62 keeps the copy of a log as private as the log, also of a long one', () => {
    const folder = new LoopFolder(
      { id: 'it-12345678', name: 'it', workspace: workspaceFolder.workspace },
      outside,
    );
    for (const bytes of [10, 101]) {
      const log = join(outside, 'stdout.log');
      writeFileSync(log, Buffer.alloc(bytes, 'x'), { mode: 0o600 });
      copyToWorkspaceFolder(folder, log, workspaceFolder.stdout('1.1'), 100);
      expect(statSync(workspaceFolder.stdout('1.1')).mode & 0o777).toBe(0o600);
    }
  });

  it('S2.57 has all of a log up to 64 MiB, and the end of a longer one, which says how much it is', () => {
    const folder = new LoopFolder(
      { id: 'it-12345678', name: 'it', workspace: workspaceFolder.workspace },
      outside,
    );
    const log = join(outside, 'check.log');
    const most = 64 * 2 ** 20;
    for (const more of [0, 5]) {
      writeFileSync(log, 'start');
      truncateSync(log, most + more - 4);
      appendFileSync(log, 'end\n');
      copyToWorkspaceFolder(folder, log, workspaceFolder.stdout('1.1'));
      const copy = readFileSync(workspaceFolder.stdout('1.1'));
      expect(copy.subarray(-4).toString()).toBe('end\n');
      const note = `[the last ${most} of ${most + 5} bytes, since a copy has at most that many; the complete log, out of reach of a sandbox, is ${log}]\n`;
      const head = more === 0 ? 'start' : `${note}\0`;
      expect(copy.subarray(0, head.length).toString()).toBe(head);
      expect(copy.length).toBe(more === 0 ? most : most + note.length);
    }
  });

  it('S1.60 refuses a link in its own place', () => {
    rmSync(workspaceFolder.path, { recursive: true });
    symlinkSync(outside, workspaceFolder.path);
    expect(() => putInWorkspaceFolder(workspaceFolder, workspaceFolder.prompt('1.1'), 'text')).toThrow(
      'is a symbolic link',
    );
    expect([existsSync(workspaceFolder.path), readdirSync(outside)]).toEqual([true, []]);
  });
});

let workspace: string;
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'ralph-folder-'));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));
const at = (file: string): string => join(workspace, '.ralph', file);
const read = (file: string): string => readFileSync(at(file), 'utf8');

it('excludes everything but the shared settings from git', () => {
  prepareFolder(workspace);
  expect(read('.gitignore')).toBe('*\n!settings.json\n');
  prepareFolder(workspace);
  expect(readdirSync(at('.'))).toEqual(['.gitignore']);
});

it('keeps a .gitignore that the user wrote', () => {
  mkdirSync(at('.'));
  writeFileSync(at('.gitignore'), 'loops\n');
  prepareFolder(workspace);
  expect(read('.gitignore')).toBe('loops\n');
});

it('writes settings with an indent of two and a final newline, and backs up earlier ones', () => {
  expect(writeSettings(workspace, { maxFailures: 3 })).toEqual({ backup: null });
  expect(read('settings.json')).toBe('{\n  "maxFailures": 3\n}\n');
  expect(writeSettings(workspace, { maxFailures: 4 })).toEqual({ backup: '.ralph/settings.json.bak' });
  expect(read('settings.json')).toContain('4');
  expect(read('settings.json.bak')).toBe('{\n  "maxFailures": 3\n}\n');
});

it('S2.25 says which file cannot be written, and why', () => {
  writeFileSync(at('.'), 'a file in the way');
  expect(() => writeSettings(workspace, {})).toThrow(
    `cannot write .ralph/settings.json: ${join(workspace, '.ralph')} is not a folder`,
  );
  expect(readFileSync(at('.'), 'utf8')).toBe('a file in the way');
});
