import { join } from 'node:path';
import { namesIn } from '../files/files.ts';

/** The names in `.ralph/loops` of a workspace, which may be desks of loops or anything else. */
export function desksIn(workspace: string): readonly string[] {
  return namesIn(join(workspace, '.ralph', 'loops'));
}
