/** What the scenarios about evidence share. */
import { chmodSync } from 'node:fs';
import { openLoadedStage, type OpenStage, type Stage } from './stage.ts';

export const DONE: string = "echo '<promise>DONE</promise>'";

/** A stage with these committed files; scripts are executable. */
export function stageWith(files: Readonly<Record<string, string>>, open: OpenStage = openLoadedStage): Stage {
  const stage = open();
  for (const [file, content] of Object.entries(files)) {
    stage.write(file, content);
    if (file.endsWith('.sh')) chmodSync(stage.path(file), 0o755);
  }
  stage.git('add', '.');
  stage.git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '--quiet', '--message', 'files');
  return stage;
}

export const CHECK: string = '#!/bin/sh\ntest -e done.txt\n';
export const CHEAT: string = `printf '#!/bin/sh\\n' > check.sh`;
export const warning = (names: string): string =>
  names.includes(', ')
    ? `warning: files that verify the work were changed since the start: ${names}\n`
    : `warning: a file that verifies the work was changed since the start: ${names}\n`;

interface Summary {
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly limitChanges: readonly unknown[];
  readonly rejectedClaims: number;
}

/** The record in `ralph status --json`. */
export async function record(stage: Stage): Promise<Summary> {
  const { stdout } = await stage.ralph('status', 'it', '--json').ended;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test checks the values
  return (JSON.parse(stdout) as { readonly record: Summary }).record;
}

export async function story(stage: Stage): Promise<string> {
  return (await stage.ralph('story', 'it').ended).stdout.replaceAll(/\n {10}/g, ' ');
}
