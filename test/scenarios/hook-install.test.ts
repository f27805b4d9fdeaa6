import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, type Stage } from './stage.ts';

const home = (stage: Stage, path: string): string => join(stage.env['HOME'] ?? '', path);
const hook = (stage: Stage, ...args: readonly string[]) => stage.ralph('hook', ...args).ended;

describe('ralph hook install and uninstall', () => {
  it.each([
    ['claude', '.claude/settings.json', '/ralph "task"'],
    ['codex', '.codex/hooks.json', 'choose "Trust all and continue", or open /hooks'],
    ['opencode', '.config/opencode/plugin/ralph.js', 'Restart opencode'],
  ])('add Ralph to %s and remove it again', async (program, file, note) => {
    const stage = openLoadedStage();
    const path = home(stage, file);
    const first = await hook(stage, 'install', program);
    expect(first).toMatchObject({ code: 0 });
    expect(first.stdout).toContain(`created ${path.replace(stage.env['HOME'] ?? '', '~')}\n`);
    expect(first.stdout).toContain(note);
    const installed = readFileSync(path, 'utf8');
    const again = await hook(stage, 'install', program);
    expect(again.stdout).toMatch(/^already installed for /);
    expect(readFileSync(path, 'utf8')).toBe(installed);
    const removed = await hook(stage, 'uninstall', program, '--json');
    expect(JSON.parse(removed.stdout)).toMatchObject({ program, scope: 'user', dryRun: false });
    expect(removed.stdout).toContain(JSON.stringify({ path, action: 'removed', backup: null }));
    expect(existsSync(path)).toBe(false);
    expect(await hook(stage, 'uninstall', program)).toMatchObject({ code: 0 });
  });

  it('name the backup, and show every change beforehand with --dry-run', async () => {
    const stage = openLoadedStage();
    const path = home(stage, '.claude/settings.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '{\n  "disableAllHooks": true\n}\n');
    const dry = await hook(stage, 'install', 'claude', '--dry-run');
    expect(dry).toMatchObject({ code: 0 });
    expect(dry.stdout).toContain(
      `--- ${path}\n+++ ${path}\n {\n-  "disableAllHooks": true\n+  "disableAllHooks": true,\n+  "hooks": {\n`,
    );
    expect(dry.stderr).toContain('hooks are switched off');
    expect(readFileSync(path, 'utf8')).toBe('{\n  "disableAllHooks": true\n}\n');
    const real = await hook(stage, 'install', 'claude');
    expect(real.stdout).toMatch(
      /^changed ~\/\.claude\/settings\.json \(backup: ~\/\.claude\/settings\.json\.ralph-backup-\S+\)$/m,
    );
  });

  it('refuse a second place, whose hooks would run too', async () => {
    const stage = openLoadedStage();
    expect(await hook(stage, 'install', 'claude', '--project')).toMatchObject({ code: 0 });
    const { code, stderr } = await hook(stage, 'install', 'claude');
    expect(code).toBe(2);
    expect(stderr).toContain(
      `already installed for Claude Code in ${stage.path('.claude/settings.json')}, and both would run\nRemove that first: ralph hook uninstall claude --project\n`,
    );
    expect(existsSync(home(stage, '.claude'))).toBe(false);
    expect((await hook(stage, 'uninstall', 'claude')).stdout).toBe(
      `not installed for Claude Code (user)\nIt is installed in ${stage.path('.claude/settings.json')}; remove it with: ralph hook uninstall claude --project\n`,
    );
  });

  it('say how to use them', async () => {
    const { stdout } = await hook(openLoadedStage(), '--help');
    expect(stdout).toContain('/ralph "make the tests pass" --check "npm test"');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each([
    [['install', 'vim'], 'unknown program "vim", expected claude, codex, opencode'],
    [['install', 'claude', '--user', '--project'], 'give either --user or --project, not both'],
  ])('%j exits with 2', async (args, message) => {
    expect(await hook(openLoadedStage(), ...args)).toMatchObject({
      code: 2,
      stderr: `ralph: error: ${message}\n`,
    });
  });

  it('exit with 2 and change nothing if the settings are invalid', async () => {
    const stage = openLoadedStage();
    const path = home(stage, '.codex/hooks.json');
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, '{\n  // mine\n}\n');
    const { code, stderr } = await hook(stage, 'install', 'codex');
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `ralph: error: ${path}:2:3: invalid JSON: comments are not allowed in JSON; remove them; nothing was changed\n`,
    });
    expect(existsSync(home(stage, '.codex/skills'))).toBe(false);
  });
});
