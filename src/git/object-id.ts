import { rule, type Rule } from '../loop/shape.ts';

/** The id of a commit or a tree, as git writes it. Any other text could be read as an option or a revision. */
export const objectId: Rule = rule(
  'the id of a git object',
  (value) => typeof value === 'string' && /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(value),
);
