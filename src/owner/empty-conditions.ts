/** Conditions of a new loop that say nothing about the work: checks that cannot fail, and a prompt that has the agent's claim in it. */
import { join } from 'node:path';
import { readRegular } from '../files/files.ts';
import { simpleCommands } from '../checks/shell-words.ts';
import type { Detector } from '../loop/completion.ts';
import { cut } from '../loop/excerpt.ts';
import type { Policy } from '../loop/policy.ts';
import { hideKeys } from '../loop/secrets.ts';
import { isRecord } from '../loop/shape.ts';
import type { PromptSource } from '../home/spec.ts';
import { readBase } from './prompt-source.ts';

/** A warning for each of them. */
export function emptyConditions({ policy, prompt, workspace }: Conditions): readonly string[] {
  const checks = policy.checks.commands.flatMap(({ command }) => {
    const why = cannotFail(command)
      ? 'cannot fail, so it verifies nothing'
      : problemWithScript(command, workspace);
    return why === null ? [] : [`warning: the check ${shown(command)} ${why}`];
  });
  if (policy.completion.until === 'checks') return checks;
  const text = textOf(prompt);
  const tags = policy.completion.detectors.flatMap((detector) => tagIn(text, detector) ?? []);
  const claims = [...new Set(tags)].map(
    (tag) => `warning: the prompt contains ${shown(tag)}: an agent that repeats that line claims to be done`,
  );
  return [...checks, ...claims];
}

interface Conditions {
  readonly policy: Policy;
  readonly prompt: PromptSource;
  readonly workspace: string;
}

/** Whether a command line exits with 0 whatever the state of the project is. */
function cannotFail(line: string): boolean {
  if (/(?:\|\||;)\s*(?:true|:|exit 0)\s*;?\s*$/.test(line)) return true;
  // An output to a file can fail.
  if (line.includes('>')) return false;
  const commands = simpleCommands(line);
  return commands.length > 0 && commands.every(([name = '', ...more]) => isEmpty(name, more));
}

function isEmpty(name: string, more: readonly string[]): boolean {
  return ALWAYS_0.has(name) || (name === 'exit' && (more[0] ?? '0') === '0');
}

const ALWAYS_0: ReadonlySet<string> = new Set(['true', '/bin/true', '/usr/bin/true', ':', 'echo', 'printf']);

/** What is wrong with the script of `package.json` that a check runs; null if nothing is known to be. */
function problemWithScript(line: string, workspace: string): string | null {
  const [command = [], ...others] = simpleCommands(line);
  const name = others.length === 0 ? scriptOf(command) : null;
  const script = name === null ? null : readScript(workspace, name);
  if (script === null) return null;
  if (script.includes('no test specified'))
    return 'runs no test: its script in package.json is the placeholder of npm init, which always fails';
  return cannotFail(script)
    ? `cannot fail, so it verifies nothing: its script in package.json is ${shown(script)}`
    : null;
}

/** `npm test`, `yarn test`, `pnpm run lint`. */
function scriptOf([program = '', first = '', second = '']: readonly string[]): string | null {
  if (!['npm', 'pnpm', 'yarn'].includes(program)) return null;
  if (first === 'run') return second;
  return first === 'test' || first === 't' ? 'test' : null;
}

function readScript(workspace: string, name: string): string | null {
  try {
    const json: unknown = JSON.parse(
      readRegular(join(workspace, 'package.json'), MAX_BYTES)?.toString('utf8') ?? '',
    );
    const scripts = isRecord(json) ? json['scripts'] : null;
    const script = isRecord(scripts) ? scripts[name] : null;
    return typeof script === 'string' ? script : null;
  } catch {
    return null;
  }
}

const MAX_BYTES = 2 ** 20;

/** The tag of a detector in the prompt, where it would be a claim if the agent printed the same. */
function tagIn(prompt: string, detector: Detector): string | null {
  if (detector.kind !== 'promise-tag' && detector.kind !== 'response-tag') return null;
  const name = detector.kind === 'promise-tag' ? 'promise' : 'response';
  const value = detector.value.trim().replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  const tag = String.raw`<${name}>\s*${value}\s*</${name}>`;
  const found =
    detector.placement === 'anywhere'
      ? new RegExp(tag, 'iu').exec(prompt)
      : new RegExp(String.raw`^[*_\t ]*${tag}[*_.!\t ]*$`, 'imu').exec(prompt);
  return found === null ? null : found[0].trim();
}

function textOf(prompt: PromptSource): string {
  try {
    return readBase(prompt).text;
  } catch {
    return '';
  }
}

function shown(text: string): string {
  return JSON.stringify(cut(hideKeys(text), 80));
}
