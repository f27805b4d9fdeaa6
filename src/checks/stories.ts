/**
 * Reads `prd.json`: `{ "userStories": [{ "id", "title", "passes", "priority" }] }`, with the fields that snarktank/ralph and
 * ralph-tui write. Stories are worked on by priority, the lowest number first; those without one come last.
 */
import {
  anyOf,
  describeProblem,
  fields,
  flag,
  nonBlank,
  nonEmptyList,
  nullable,
  optional,
  rule,
  string,
} from '../loop/shape.ts';
import { UserError } from '../user-error.ts';
import { type Plan, type PlanItem, titleOf } from './plan-items.ts';

export async function parseStories(text: string, file: string): Promise<Plan> {
  const stories = await storiesIn(text, file);
  const byPriority = stories.toSorted((a, b) => (a.priority ?? Infinity) - (b.priority ?? Infinity));
  const items = new Map(byPriority.map((story) => [itemOf(story), story]));
  return {
    items: [...items.keys()],
    detailsOf(item) {
      const story = items.get(item);
      return story === undefined ? '' : detailsOf(story);
    },
  };
}

interface Story {
  readonly id?: string | number | null;
  readonly title: string;
  readonly passes?: boolean;
  readonly priority?: number | null;
  readonly description?: unknown;
  readonly acceptanceCriteria?: unknown;
  readonly notes?: unknown;
}

const number = rule('a number', (value) => typeof value === 'number' && Number.isFinite(value));
const FILE = fields({
  userStories: nonEmptyList(
    fields({
      id: optional(nullable(anyOf('a string or a number', [string, number]))),
      title: nonBlank,
      passes: optional(flag),
      priority: optional(nullable(number)),
    }),
  ),
});

async function storiesIn(text: string, file: string): Promise<readonly Story[]> {
  const value = await parsed(text, file);
  const [problem] = FILE(value, '');
  if (problem !== undefined) {
    const { offsetsOf, positionAt } = await import('../files/json-text.ts');
    const offset = offsetsOf(text).get(problem.field);
    const place = offset === undefined ? '' : `:${placeText(positionAt(text, offset))}`;
    throw new UserError(`the plan ${file}${place} is not valid: ${describeProblem(problem)}`);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its shape was checked
  return (value as { readonly userStories: readonly Story[] }).userStories;
}

async function parsed(text: string, file: string): Promise<unknown> {
  try {
    return JSON.parse(text);
  } catch {
    const { syntaxErrorIn, tooDeepIn } = await import('../files/json-text.ts');
    const error = tooDeepIn(text) ?? syntaxErrorIn(text);
    const place = error === null ? '' : `:${placeText(error)}`;
    throw new UserError(
      `the plan ${file}${place} is not valid JSON${error === null ? '' : `: ${error.message}`}`,
    );
  }
}

function placeText({ line, column }: { readonly line: number; readonly column: number }): string {
  return `${line}:${column}`;
}

function itemOf({ id, title, passes }: Story): PlanItem {
  return {
    id: id === undefined || id === null ? null : titleOf(String(id)),
    title: titleOf(title),
    isDone: passes === true,
    parent: null,
  };
}

function detailsOf({ description, acceptanceCriteria, notes }: Story): string {
  const criteria = Array.isArray(acceptanceCriteria) ? acceptanceCriteria.filter(isText) : [];
  return [
    ...(isText(description) ? [description.trim()] : []),
    ...(criteria.length === 0
      ? []
      : [['Acceptance criteria:', ...criteria.map((one) => `- ${titleOf(one)}`)].join('\n')]),
    ...(isText(notes) ? [`Notes: ${notes.trim()}`] : []),
  ].join('\n\n');
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '';
}
