import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { commandNames } from './program.ts';
import { asTyped } from './typed-name.ts';

const { argv } = process;
beforeEach(() => {
  for (const name of ['npm_command', 'RALPH_RUN_ID']) vi.stubEnv(name, undefined);
});
afterEach(() => {
  process.argv = argv;
  vi.unstubAllEnvs();
});

function called(path: string, env: Readonly<Record<string, string>> = {}): void {
  process.argv = [process.execPath, path];
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
}

describe('advice', () => {
  const advice = 'loop x has ended; resume it with: ralph resume x';

  it.each([
    ['/usr/bin/rud', {}, 'rud resume x'],
    ['/usr/bin/ralph', {}, 'ralph resume x'],
    ['/a/dist/cli/main.js', {}, 'ralph resume x'],
    ['/c/_npx/1/node_modules/.bin/ralph', { npm_command: 'exec' }, 'npx ralph-until-done resume x'],
    ['/w/node_modules/.bin/ralph', {}, 'ralph resume x'],
    // An agent has `ralph` on its PATH.
    ['/usr/bin/rud', { RALPH_RUN_ID: 'x-12345678.1' }, 'ralph resume x'],
  ])('of a command that was called as %s with %j is: %s', (path, env, command) => {
    called(path, env);
    expect(asTyped(advice)).toBe(`loop x has ended; resume it with: ${command}`);
  });

  it('knows every command', () => {
    called('/usr/bin/rud');
    const commands = [...commandNames(), '--help', 'help run', 'answer NAME', '[options] [command]'];
    expect(commands.filter((words) => asTyped(`use: ralph ${words}`) !== `use: rud ${words}`)).toEqual([]);
  });

  it('is not what a person has written, what a document prescribes, and where Ralph is the subject', () => {
    called('/usr/bin/rud');
    const text =
      'ralph: error: make ralph run faster\npaused ralph loop for x\nresumed ralph loop for x\nralph was tested';
    expect(asTyped(text)).toBe(text);
  });

  it('in the source is recognised, but for sentences about a command', () => {
    called('/usr/bin/rud');
    const source = fileURLToPath(new URL('../', import.meta.url));
    const command = new RegExp(String.raw`\w+ ralph (?:--help|${commandNames().join('|')})\b`, 'g');
    const missed = readdirSync(source, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .flatMap((file) => {
        const code = readFileSync(join(source, file), 'utf8').replaceAll(COMMENT, '');
        return asTyped(code).match(command) ?? [];
      });
    expect(missed.toSorted()).toEqual([
      'by ralph report',
      'of ralph hook step',
      'of ralph hook step',
      'of ralph init',
      'paused ralph loop',
      'resumed ralph loop',
    ]);
  });
});

const COMMENT = /\/\*[^]*?\*\/|(?<=\s)\/\/ .*$/gm;
