/** The first pages of the help, which fit a terminal, and the pages with everything. */
import { describe, expect, it } from 'vitest';
import { commandOptions } from '../../src/cli/program.ts';
import { SETTING_OPTIONS } from '../../src/cli/option-rows.ts';
import { openLoadedStage } from './stage.ts';

/** The last row of the terminal has the prompt of the shell. */
const SCREEN = { rows: 23, columns: 80 };

async function page(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await openLoadedStage().ralph(...args).ended;
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

/** The lines of a page, as far as they do not fit a terminal. */
function tooMuch(text: string): readonly string[] {
  const lines = text.trimEnd().split('\n');
  return lines.filter((line, row) => row >= SCREEN.rows || line.length > SCREEN.columns);
}

describe('the first page', () => {
  it('of ralph has eight commands for the evening and the morning, and two examples', async () => {
    const text = await page('--help');
    expect(tooMuch(text)).toEqual([]);
    const named = [...text.matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(([, name]) => name);
    expect(named).toEqual(['init', 'run', 'attach', 'stop', 'status', 'report', 'diff', 'resume']);
    expect(text.match(/^ {2}ralph .*/gm)).toHaveLength(2);
    expect(text).toContain('ralph help --all');
    expect(await page('help')).toBe(text);
  });

  it('of ralph follows the error of a bare ralph, which exits with 2', async () => {
    const { code, stdout, stderr } = await openLoadedStage().ralph().ended;
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const [error, empty, ...rest] = stderr.split('\n');
    expect([error, empty]).toEqual(['ralph: error: must specify prompt (--prompt or --prompt-file)', '']);
    expect(rest.join('\n')).toBe(await page('--help'));
  });

  it('of ralph run has twelve options, each with an example', async () => {
    const text = await page('run', '--help');
    expect(tooMuch(text)).toEqual([]);
    const options = [...text.matchAll(/^ {2}(?:-\w, )?--([a-z-]+)(?: \S+)* {2,}\S/gm)].map(
      ([, name]) => name,
    );
    expect(options).toHaveLength(12);
    expect(options).toContain('check');
    expect(text).not.toMatch(/<[a-z]+>/);
    expect(text).toContain('ralph help run --all');
    expect(await page('help', 'run')).toBe(text);
  });

  it.each(SETTING_OPTIONS)('of ralph %s fits a terminal', async (name) => {
    expect(tooMuch(await page(name, '--help'))).toEqual([]);
  });
});

describe('the page with everything', () => {
  it('of ralph names every command, and the exit codes', async () => {
    const text = await page('help', '--all');
    const commands = [...commandOptions().keys()].map((name) => name.split(' ')[0]);
    // A shell calls `complete`, and document 003 has `ralph ralph`.
    const hidden = new Set(['complete', 'ralph']);
    expect(commands.filter((name = '') => !hidden.has(name) && !text.includes(`\n  ${name}`))).toEqual([]);
    expect(text).toContain('Exit codes: 0 done');
  });

  it.each(SETTING_OPTIONS)('of ralph %s has every option in a group', async (name) => {
    const text = await page('help', name, '--all');
    const hidden = new Set(['--maximum-iterations', '--tmux', '--ready-wait']);
    const options =
      commandOptions()
        .get(name)
        ?.filter((option) => !hidden.has(option)) ?? [];
    expect(options.length).toBeGreaterThan(30);
    expect(options.filter((option) => !new RegExp(`^ {2}.*${option}(?: |,|$)`, 'm').test(text))).toEqual([]);
    expect(text).toMatch(/^Limits:|^New limits/m);
    expect(text.split('\n').filter((line) => line.length > 80 && !line.startsWith('Usage:'))).toEqual([]);
  });

  it('says the defaults of the command', async () => {
    expect(await page('help', 'run', '--all')).toMatch(/maximum number of iterations \(default 10\)/);
    const loop = await page('help', 'loop', '--all');
    expect(loop).toMatch(/maximum number of iterations \(default 25\)/);
    expect(loop).toMatch(
      /--max-failures <number> +maximum number of consecutive failures\s+\(default unlimited\)/,
    );
    expect(await page('help', 'spawn', '--all')).toMatch(/maximum number of iterations \(required\)/);
    expect(await page('help', 'resume', '--all')).toMatch(/maximum number of iterations\n/);
  });
});
