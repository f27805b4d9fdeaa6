/**
 * What was asked for, kept from before the name of a loop is reserved until its first event is written. If the process that
 * creates the loop dies in between, `ralph resume` can start the loop from it.
 */
import { replaceFile } from '../files/replace-file.ts';
import { PRIVATE_FILE, readJsonFile } from '../files/files.ts';
import { isEvent } from '../loop/event-shape.ts';
import type { Policy } from '../loop/policy.ts';
import { fields, fits, isRecord, nullable, optional, rule, shortText } from '../loop/shape.ts';
import { redact } from '../loop/secrets.ts';
import { type Spec, absolutePath, parentRun, SPEC } from './spec.ts';
import { removeQuietly } from './state-folder.ts';
import type { LoopFolder } from './home.ts';
import type { Environment } from '../process/process.ts';

export interface Asked {
  /** Without a worktree, which is made later. */
  readonly spec: Spec;
  readonly policy: Policy;
  /** The run whose budget it counts towards, if that is not its parent. */
  readonly paidBy: Spec['parent'];
  /** Absent for a loop without a worktree of its own. */
  readonly worktree?: { readonly folder?: string; readonly branch?: string };
}

/** Notes what was asked for; the secrets in the agent's command are kept with the environment alone. */
export function noteAsked(folder: LoopFolder, asked: Asked, env: Environment): void {
  const { spec } = asked;
  const argv = redact(spec.agent.argv, env);
  const text = JSON.stringify({ ...asked, spec: { ...spec, agent: { ...spec.agent, argv } } });
  replaceFile(folder.asked, `${text}\n`, { mode: PRIVATE_FILE });
}

/** The loop has its first event. */
export function forgetAsked(folder: LoopFolder): void {
  removeQuietly(folder.asked);
}

export function readAsked(folder: LoopFolder): Asked | null {
  const value = readJsonFile(folder.asked, MAX_BYTES);
  return isAsked(value) && value.spec.id === folder.id ? value : null;
}

/** A prompt may be long. */
const MAX_BYTES = 64 * 2 ** 20;

function isAsked(value: unknown): value is Asked {
  return fits(ASKED, value);
}

const ASKED = fields({
  spec: SPEC,
  paidBy: nullable(parentRun),
  policy: rule('a policy', (policy) => isEvent({ type: 'loop.created', at: 0, name: '', policy })),
  worktree: optional(rule('a place', (value) => isRecord(value) && fits(PLACE, value))),
});

const PLACE = fields({ folder: optional(absolutePath), branch: optional(shortText(1000)) });
