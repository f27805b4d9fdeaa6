import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gitErrorIn } from './excerpts.ts';

function log(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-excerpts-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'log'), text);
  return join(folder, 'log');
}

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
