import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { suggestionsFor } from './suggestions.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ralph-around-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it('finds installed agents without running them, those that are logged in first, and checks', () => {
  for (const name of ['amp', 'codex', 'gemini']) {
    writeFileSync(join(folder, name), `#!/bin/sh\ntouch '${folder}/called'\n`);
    chmodSync(join(folder, name), name === 'gemini' ? 0o644 : 0o755);
  }
  writeFileSync(join(folder, 'go.mod'), '');
  const found = suggestionsFor(folder, { PATH: folder, HOME: folder, AMP_API_KEY: 'key' });
  expect(found.agents).toEqual([
    { command: 'amp', login: 'API key in AMP_API_KEY' },
    { command: 'codex', login: 'not logged in' },
  ]);
  expect(found.checks).toEqual([
    { command: 'go test ./...', from: 'go.mod' },
    { command: 'go vet ./...', from: 'go.mod' },
  ]);
  expect([found.has('codex'), found.has('gemini'), found.has('called')]).toEqual([true, false, false]);
});

it('refers to the schema of the installed package, here or above, and to none of another package of its name', () => {
  const inner = join(folder, 'packages', 'one');
  mkdirSync(inner, { recursive: true });
  const schema = (workspace: string): string | null => suggestionsFor(workspace, {}).schema;
  const installed = join(folder, 'node_modules', 'ralph-until-done');
  mkdirSync(installed, { recursive: true });
  expect(schema(inner)).toBeNull();
  writeFileSync(join(installed, 'settings.schema.json'), '{}');
  expect(schema(folder)).toBe('../node_modules/ralph-until-done/settings.schema.json');
  expect(schema(inner)).toBe('../../../node_modules/ralph-until-done/settings.schema.json');
});

it('does not wait for a FIFO in the place of a file', () => {
  execFileSync('mkfifo', [join(folder, 'package.json')]);
  expect(suggestionsFor(folder, {}).checks).toEqual([]);
});
