import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openArena, type Arena } from './arena.ts';
import { install } from './install.ts';
import { REAL_AGENTS } from './real-agent.ts';
import { runs, says } from './script.ts';
import { CLAIM, endedWith } from './whole-loop.ts';

/** Files in the home of a user who works with the CLI. */
const USED = {
  '.claude.json': '{"numStartups":3,"hasCompletedOnboarding":true,"mcpServers":{}}',
  '.claude/settings.json': '{}',
};

function inHome({ stage }: Arena, name: string): string {
  const path = join(stage.env['HOME'] ?? '', name);
  mkdirSync(dirname(path), { recursive: true });
  return path;
}

/** Its program must be visible, wherever this suite is installed. */
function allowProgram(arena: Arena, bin: string): void {
  const write = [dirname(dirname(bin))];
  writeFileSync(inHome(arena, '.config/ralph/settings.json'), JSON.stringify({ sandbox: { write } }));
}

describe.each(Object.values(REAL_AGENTS))('$name', (agent) => {
  it.each(['--sandbox', '--no-sandbox'])('does its work with %s', { tags: ['bwrap'] }, async (flag) => {
    const bin = await install(agent.package);
    const work = [': > inside', ': > "$HOME"/outside', 'echo "{}" > "$HOME"/.claude/settings.json', 'true'];
    const arena = await openArena(agent, bin, [runs(work.join('; ')), says(CLAIM)]);
    allowProgram(arena, bin);
    for (const [name, text] of Object.entries(USED)) writeFileSync(inHome(arena, name), text);
    const { stderr } = endedWith(
      0,
      await arena.run(['Make a file.', flag, '--check', 'test -e inside', '-m', '2']),
    );
    expect(arena.stage.state['outcome']).toMatchObject({ type: 'done', verified: true });
    expect(stderr).toContain('1 of 2');
    expect(stderr).not.toContain('moved to');
    const isFree = flag === '--no-sandbox';
    expect(existsSync(inHome(arena, 'outside'))).toBe(isFree);
    expect(readFileSync(inHome(arena, '.claude/settings.json'), 'utf8')).toBe(isFree ? '{}\n' : '{}');
  });
});

it('codex in its own sandbox writes the workspace and its workspace folder, and not the state of its loop', async () => {
  const agent = REAL_AGENTS.codex;
  const bin = await install(agent.package);
  const state = '"$XDG_STATE_HOME"/ralph/loops/*/spec.json';
  const work = [
    ': > inside',
    ': > "$TASK_FOLDER"/note',
    `for f in ${state}; do echo '{}' > "$f"; done`,
    'echo tried > tried',
  ];
  const arena = await openArena(agent, bin, [runs(work.join('; ')), says(CLAIM)]);
  // Codex lets its agent write /tmp, where the state of this test is.
  const without = ['exclude_slash_tmp', 'exclude_tmpdir_env_var'].flatMap((name) => [
    '-c',
    `sandbox_workspace_write.${name}=true`,
  ]);
  const own = ['--', 'codex', '--sandbox', 'workspace-write', ...without, '--skip-git-repo-check'];
  endedWith(0, await arena.run(['Make a file.', '--check', 'test -e tried', '-m', '2', ...own]));
  const has = (name: string): boolean => existsSync(join(arena.stage.workspace, name));
  expect([has('inside'), has('.ralph/loops/it/note')]).toEqual([true, true]);
  expect(readFileSync(arena.stage.file('spec.json'), 'utf8')).toContain('"name": "it"');
});
