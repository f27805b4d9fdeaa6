import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COLUMNS, demoPicture } from '../../scripts/demo-picture.mjs';
import { openStage } from './stage.ts';

const recording = new URL('../fixtures/demo/terminal.txt', import.meta.url);
const picture = (theme: string): URL => new URL(`../../docs/images/demo-${theme}.svg`, import.meta.url);
const isWriting = process.env['RALPH_WRITE_DOCS'] === '1';

it('ralph demo runs a loop, and neither uses the state of the user nor names what is gone afterwards', async () => {
  const stage = openStage();
  const state = join(stage.plan, 'state');
  stage.env['RALPH_STATE'] = state;
  const { code, stderr } = await stage.ralph('demo').ended;
  expect(code).toBe(0);
  expect(stderr).toContain('ralph: demo done');
  expect(stderr).toMatch(/^ {2}time +\d/m);
  expect(stderr).not.toContain('files that verify the work were changed');
  expect(stderr).not.toMatch(/^ {2}(?:details|story|resume) /m);
  expect(existsSync(state)).toBe(false);
});

it('on a terminal it prints what the picture in the README shows', { tags: ['script'] }, async () => {
  const stage = openStage();
  const demo = `stty cols ${COLUMNS} rows 60; ${process.execPath} ${stage.main} demo`;
  const { code, stdout } = await stage.shell(`script --quiet --return --command '${demo}' /dev/null`, {
    TERM: 'xterm-256color',
    // Without emoji, which not every reader of the picture has a font for.
    LC_ALL: 'C',
  }).ended;
  expect(code).toBe(0);
  const shown = loopIn(stdout);
  if (isWriting) {
    mkdirSync(new URL('.', recording), { recursive: true });
    writeFileSync(recording, shown);
  }
  expect(withoutTimes(shown)).toBe(withoutTimes(readFileSync(recording, 'utf8')));
});

it.each(['light', 'dark'] as const)('the %s picture in the README is drawn from the recording', (theme) => {
  const drawn = demoPicture(readFileSync(recording, 'utf8'), theme);
  if (isWriting) {
    mkdirSync(new URL('.', picture(theme)), { recursive: true });
    writeFileSync(picture(theme), drawn);
  }
  expect(readFileSync(picture(theme), 'utf8')).toBe(drawn);
});

/** From the command line to the end of the report, without the status line and the line with the paths of this machine. */
function loopIn(output: string): string {
  const lines = output.split('\r\n').map((line) => line.split('\r\u001B[K').at(-1) ?? '');
  const first = lines.findIndex((line) => line.includes('$ ralph run'));
  const last = lines.findIndex((line) => /^ {2}time /.test(line));
  return `${lines
    .slice(first, last + 1)
    .filter((line) => !line.includes('Agent command:'))
    .join('\n')}\n`;
}

/** A report has no row for a wait of less than a second. */
function withoutTimes(text: string): string {
  return text
    .replace(/^ {2}waited .*\n/m, '')
    .replaceAll(/\d\d:\d\d:\d\d/g, 'HH:MM:SS')
    .replaceAll(/\d+(?:\.\d)?s\b/g, 'Ns');
}
