/** The stage for the example lines of the documents: `ralph` on the PATH, an alias for it, and the programs that the lines call. */
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Ralph } from './ralph.ts';
import { openStage, type Stage } from './stage.ts';

export interface Lines {
  readonly stage: Stage;
  /** Types a line as the document prints it, with `<name>` and the like replaced. */
  readonly types: (line: string, names?: Readonly<Record<string, string>>) => Ralph;
  /** What `notify-send` was told so far. */
  readonly notified: () => readonly string[];
}

/** Programs of the lines that would never end, edit by hand or are not installed; each does its part once. */
const PROGRAMS: Readonly<Record<string, string>> = {
  'notify-send': 'printf "%s\\n" "$*" >>"$FAKE_PLAN/notified"',
  // Ends at the end of the file.
  tail: 'cat "$2"',
  // Ends after the first time. Its shell knows no aliases, so it alone finds the link.
  watch: 'PATH="$(dirname "$0")/links:$PATH" exec sh -c "$3"',
  vim: `sed 's/"max_iterations": [0-9]*/"max_iterations": 2/' "$1" >"$1.new" && mv "$1.new" "$1"`,
  pytest: 'test -e fixed',
  ruff: 'true',
  mypy: 'true',
};

/** Every line that was typed, to compare with those of a document. */
export const TYPED: Set<string> = new Set();

export function openLines(alias: string): Lines {
  const stage = openStage({ branch: 'main' });
  stage.identifies();
  const folder = dirname(stage.installs('claude'));
  symlinkSync(stage.main, join(folder, 'ralph'));
  mkdirSync(join(folder, 'links'));
  symlinkSync(stage.main, join(folder, 'links', alias));
  for (const [name, script] of Object.entries(PROGRAMS)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  // Only for the one filter of document 003.
  writeFileSync(
    join(folder, 'jq'),
    `#!${process.execPath}\nconst all = JSON.parse(require('node:fs').readFileSync(0, 'utf8'));\nfor (const one of all) if (one.metadata.ralph === true) console.log(JSON.stringify(one));\n`,
    { mode: 0o755 },
  );
  return {
    stage,
    types: (line, names = {}) => {
      TYPED.add(line);
      const text = Object.entries(names).reduce(
        (typed, [name, value]) => typed.replaceAll(name, value),
        line,
      );
      return stage.shell(`alias ${alias}=ralph\n${text}`);
    },
    notified: () =>
      stage.hasPlanFile('notified')
        ? readFileSync(join(stage.plan, 'notified'), 'utf8').split('\n').slice(0, -1)
        : [],
  };
}

/** What claude prints for an answer that is not the last one. */
export function claudeSays(text: string): string {
  return printed({ type: 'assistant', message: { id: 'm', content: [{ type: 'text', text }] } });
}

/** What claude prints for its final answer. */
export function claudeAnswers(text: string): string {
  const result = { type: 'result', subtype: 'success', is_error: false, result: text, total_cost_usd: 0.01 };
  return `${claudeSays(text)}\n${printed(result)}`;
}

function printed(event: object): string {
  return `printf '%s\\n' '${JSON.stringify(event)}'`;
}
