#!/usr/bin/env node
import { readFileSync } from 'node:fs';

process.exitCode = main(process.argv.slice(2));

/** The command: so far it only knows its name and number; the loop is a library (see README). */
function main(args: readonly string[]): number {
  const [first, ...rest] = args;
  if ((first === '--version' || first === '-v') && rest.length === 0) {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  const given = args.length === 0 ? 'nothing' : JSON.stringify(args.join(' '));
  process.stderr.write(
    `ralph: error: expected --version, got ${given}\n` +
      `This version has the core as a library and no commands yet: import { decide } from 'ralph-loop'.\n`,
  );
  return 2;
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : 'dev';
}
