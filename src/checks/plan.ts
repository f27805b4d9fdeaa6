/**
 * A plan: the work of a loop as a list of items that are done or open. It is a Markdown checklist, or a `prd.json` with
 * user stories.
 *
 * 1. The agent can write the file. It is read whole, up to 1 MiB; no link, FIFO or folder is opened in its place.
 * 2. Ralph never writes it.
 * 3. A file without any item is an error, since a plan that was emptied would look done.
 * 4. Every title is on one line and has no control characters.
 */
import { basename, dirname, join, sep } from 'node:path';
import { below } from '../files/below.ts';
import { codeOf, readRegular } from '../files/files.ts';
import { reasonOf, UserError } from '../user-error.ts';
import { parseChecklist } from './checklist.ts';
import type { Plan } from './plan-items.ts';
import { parseStories } from './stories.ts';

/** Reads a plan below a folder; throws a `UserError` that names it as `shown`. No folder on the way may be a link. */
export async function readPlan(root: string, file: string, shown: string = file): Promise<Plan> {
  const content = contentOf(root, file, shown);
  if (content === null) throw new UserError(`plan not found: ${shown}`);
  const text = content.toString('utf8').replace(/^\uFEFF/, '');
  return file.endsWith('.json') ? parseStories(text, shown) : parseChecklist(text, shown);
}

function contentOf(root: string, file: string, shown: string): Buffer | null {
  const folders = dirname(file) === '.' ? [] : dirname(file).split(sep);
  try {
    return below(root, folders, { make: false }, (folder) =>
      readRegular(join(folder, basename(file)), MAX_BYTES),
    );
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw new UserError(`cannot read the plan ${shown}: ${reasonOf(error)}`, 2, { cause: error });
  }
}

const MAX_BYTES = 2 ** 20;
