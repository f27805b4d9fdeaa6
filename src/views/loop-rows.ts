/**
 * The rows of `ralph ls`. What was said before about loops that have ended comes from a file; only the others are read, by code
 * that is loaded when it is needed.
 */
import { namesIn } from '../files/files.ts';
import { isSettled, stampOf } from '../files/stamp.ts';
import { fits } from '../loop/shape.ts';
import { Mask } from '../store/mask.ts';
import { byWorkspace, readEntry, registryFolder, registryFolders, rowsFileOf } from '../store/registry.ts';
import { answerIn, filesOfAnswers, readAnswers, writeAnswers, type Answer } from '../store/remembered.ts';
import { startersEnvironment } from '../store/run-environment.ts';
import { loopId } from '../store/spec-shape.ts';
import { loopsFolder, type LoopKey } from '../store/store.ts';
import { rowReader, withMask, type LoopRow } from './loop-row.ts';

/** The loops of a workspace by name, or those of all workspaces. `program` words the rows; null if it is unknown. */
export function listRows(workspace: string | null, program: string | null): readonly ListedRow[] {
  const recall = recaller();
  const read = rowReader();
  const listed: ListedRow[] = [];
  for (const folder of workspace === null ? registryFolders() : [registryFolder(workspace)]) {
    const file = rowsFileOf(folder);
    const known = program === null ? {} : readAnswers(file, program);
    const answers = new Map<string, Answer>();
    let isNew = false;
    for (const name of namesIn(folder)) {
      const path = `${folder}/${name}`;
      const answer = answerIn(known, name);
      const found = answer === null ? null : recall(path, name, answer);
      if (answer !== null && found !== null) {
        answers.set(name, answer);
        listed.push(found);
        continue;
      }
      const now = Date.now();
      const entry = stampOf([path]);
      const key = readEntry(path);
      if (key === null) continue;
      const one = read(key);
      listed.push({ key, row: one?.row ?? null });
      if (one === null || one.stamp === null || entry === null || !isSettled(entry, now)) continue;
      isNew = true;
      answers.set(name, { stamp: entry.text + one.stamp, texts: textsOf(key, one.row) });
    }
    if (isNew && program !== null) writeAnswers(file, program, answers);
  }
  return workspace === null ? listed.toSorted((a, b) => byWorkspace(a.key, b.key)) : listed;
}

export interface ListedRow {
  readonly key: LoopKey;
  /** Null if the loop does not exist, or not any more. */
  readonly row: LoopRow | null;
}

/** Returns the row in an answer, unless a file that it came from has changed. */
function recaller(): (entry: string, name: string, answer: Answer) => ListedRow | null {
  const loops = loopsFolder();
  const mask = new Mask(startersEnvironment(process.env));
  return (entry, name, { stamp, texts }) => {
    const [id, workspace] = texts;
    const row = rowIn(texts);
    if (row === null || typeof workspace !== 'string' || typeof id !== 'string' || !fits(loopId, id))
      return null;
    if (stampOf([entry, ...filesOfAnswers(`${loops}/${id}`)])?.text !== stamp) return null;
    // At once, because a row without secrets is the rule.
    const all = texts.join('\n');
    return { key: { id, name, workspace }, row: mask.text(all) === all ? row : withMask(row, mask) };
  };
}

function textsOf({ id, workspace }: LoopKey, row: LoopRow): Answer['texts'] {
  return [
    id,
    workspace,
    row.name,
    row.status,
    row.iterations,
    row.cost,
    row.plan,
    row.tags,
    row.workspace,
    row.reason,
  ];
}

function rowIn([
  ,
  ,
  name,
  status,
  iterations,
  cost,
  plan,
  tags,
  workspace,
  reason,
]: Answer['texts']): LoopRow | null {
  if (typeof name !== 'string' || typeof status !== 'string' || typeof iterations !== 'string') return null;
  if (typeof workspace !== 'string' || typeof reason !== 'string') return null;
  return {
    name,
    status,
    iterations,
    cost: cost ?? null,
    plan: plan ?? null,
    owner: '-',
    tags: tags ?? null,
    workspace,
    reason,
  };
}
