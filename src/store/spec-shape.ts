/** The shape of `spec.json`. Fields of other versions are allowed. */
import { isAbsolute } from 'node:path';
import {
  anyOf,
  fields,
  list,
  nullable,
  oneOf,
  optional,
  rule,
  shortText,
  string,
  table,
  whole,
  type Rule,
} from '../loop/shape.ts';
import { isTmuxName, problemWithName } from './names.ts';
import type { FamilyPlace, ParentRun, Spec, TmuxWindow, Worktree } from './spec.ts';
import type { TaskIds } from './store.ts';

/** An absolute path that the system could open. */
export const absolutePath: Rule = rule(
  'an absolute path',
  (value) =>
    typeof value === 'string' && value.length <= MAX_PATH && isAbsolute(value) && !value.includes('\0'),
);
const MAX_PATH = 4096;

export const loopNameRule: Rule = rule(
  'the name of a loop',
  (value) => typeof value === 'string' && problemWithName(value) === null,
);

/** The name with a suffix. It becomes a part of file names, git refs and the markers by which processes are found. */
export const loopId: Rule = rule(
  'the id of a loop',
  (value) => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value),
);

export const taskIds: Rule = fields({
  project: shortText(1000),
  task: shortText(1000),
} satisfies Record<keyof TaskIds, Rule>);

const word = shortText(2 ** 20);
const variables = table(word);

const worktree = fields({
  path: absolutePath,
  branch: shortText(1000),
  from: nullable(shortText(1000)),
  folder: absolutePath,
} satisfies Record<keyof Worktree, Rule>);

const tmuxName = rule(
  'a name of letters, digits, "-" and "_"',
  (value) => typeof value === 'string' && isTmuxName(value),
);

const window = fields({
  socket: optional(tmuxName),
  session: optional(tmuxName),
} satisfies Record<keyof TmuxWindow, Rule>);

const agent = fields({
  kind: shortText(100),
  argv: list(word),
  model: optional(shortText(1000)),
  promptVia: optional(oneOf(['stdin', 'file', 'argument'])),
  env: optional(variables),
  given: optional(list(shortText(1000))),
  drop: optional(list(shortText(1000))),
} satisfies Record<keyof Spec['agent'], Rule>);

const prompt = anyOf('a text or the path of a file', [
  fields({ text: string, spec: optional(absolutePath) }),
  fields({ file: absolutePath }),
]);

export const parentRun: Rule = fields({
  run: shortText(1000),
  folder: absolutePath,
  depth: optional(whole(1)),
} satisfies Record<keyof ParentRun, Rule>);

export const SPEC: Rule = fields({
  version: rule('1', (value) => value === 1),
  id: loopId,
  name: loopNameRule,
  workspace: absolutePath,
  task: optional(taskIds),
  movedFrom: optional(list(absolutePath)),
  created: shortText(100),
  agent,
  prompt,
  place: optional(oneOf(['foreground', 'background', 'session'])),
  session: optional(shortText(1000)),
  tags: optional(list(shortText(1000))),
  worktree: optional(worktree),
  window: optional(window),
  parent: nullable(parentRun),
  family: optional(fields({ root: loopId, payer: loopId } satisfies Record<keyof FamilyPlace, Rule>)),
} satisfies Record<keyof Spec, Rule>);

/** The environment that a loop was started with. */
export const KEPT: Rule = fields({
  env: variables,
  argv: list(word),
  umask: rule('a umask', (value) => Number.isInteger(value) && isUmask(Number(value))),
});

function isUmask(value: number): boolean {
  return value >= 0 && value <= 0o777;
}
