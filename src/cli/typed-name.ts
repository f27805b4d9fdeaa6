/** Advice with the name under which a person has called Ralph, since another program may own the name `ralph`. */
import { basename } from 'node:path';
import { PACKAGE } from '../package-name.ts';

/** The text with the typed name in the commands that it advises; as it is for `ralph`. */
export function asTyped(text: string): string {
  const name = typedName();
  return name === 'ralph' ? text : text.replace(ADVICE, name);
}

/** Background owners and agents start Ralph by its path or as `ralph`. */
function typedName(): string {
  const path = process.argv[1] ?? '';
  const { npm_command: npm, RALPH_RUN_ID: run = '' } = process.env;
  if (run !== '') return 'ralph';
  if (npm === 'exec' && path.includes('/node_modules/.bin/')) return `npx ${PACKAGE}`;
  return basename(path) === 'rud' ? 'rud' : 'ralph';
}

/** A command line that begins, not the word in a sentence of a person: `continue it with: ralph resume NAME`. */
const COMMANDS =
  'agents|answer|attach|bus|complete|completion|config|daemon|demo|diff|doctor|help|hook|init|kill|logs|loop(?! for )|ls|mcp|move|notify|pause|plan|ralph|report|resume|rewind|rm|run|service|set|skill|spawn|status|stop|story|tell|template|trust|ui|wait|watch|worktree';
const ADVICE = new RegExp(
  String.raw`(?<=^|[\n:;,("'\`→$] ?| {2}|\u001B\[\d+m|-- |\b(?:and|as|in|or|see|use|which|with) )ralph(?= (?:\[|--[a-z]|(?:${COMMANDS})\b))`,
  'g',
);
