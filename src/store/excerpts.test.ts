import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endOf, gitErrorIn } from './excerpts.ts';

function log(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-excerpts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'log'), text);
  return join(folder, 'log');
}

describe('the end of a log', () => {
  const end = (text: string, hide = (words: string): string => words): readonly string[] =>
    endOf(log(text), { lines: 3, chars: 20 }, hide);

  it('has the last lines that are not blank, each cut to the maximum length', () => {
    expect(end('one\ntwo\n\n  three\n\nfour\n')).toEqual(['two', '  three', 'four']);
    expect(end('x'.repeat(30))).toEqual([`${'x'.repeat(17)}...`]);
    expect(end('')).toEqual([]);
    expect(endOf('/nowhere/log', { lines: 3, chars: 20 }, String)).toEqual([]);
  });

  it('has no control characters', () => {
    expect(end('\u001B[31mred\u001B[0m\u0007\n\u001B]0;title\u0007a\tb\r\n10%\r50%\r100%\r\n')).toEqual([
      'red',
      'a  b',
      '100%',
    ]);
  });

  it('masks secrets, even across a cut and where the read part begins', () => {
    const hide = (text: string): string => text.replaceAll('my-secret-key', '<redacted>');
    expect(end('a my-secret-key\n0123456789 my-secret-key\n', hide)).toEqual([
      'a <redacted>',
      '0123456789 <redac...',
    ]);
    for (let length = 32_760; length < 32_780; length++)
      expect(end(`my-secret-key${'.'.repeat(length)}`, hide).join('')).not.toContain('key');
  });
});

describe('the git error in a log', () => {
  it('has the error lines of git without its hints', () => {
    const advice = 'fatal: No configured push destination.\nEither specify the URL\n\n    git push <name>\n';
    expect(gitErrorIn(log(advice), 3)).toBe('fatal: No configured push destination.');
    const rejected =
      "To ../remote\n ! [rejected]        main -> main (fetch first)\nerror: failed to push some refs to '../remote'\nhint: Updates were rejected\n";
    expect(gitErrorIn(log(rejected), 3)).toBe(
      "! [rejected]        main -> main (fetch first); error: failed to push some refs to '../remote'",
    );
    expect(gitErrorIn(log('remote: \nremote: not on a Friday\nTo x\n'), 3)).toBe('remote: not on a Friday');
  });

  it('has the last lines if git names no error', () => {
    expect(gitErrorIn(log('1\n2\n3\n4\n'), 3)).toBe('2; 3; 4');
  });
});
