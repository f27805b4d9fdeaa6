import { parse } from 'diff2html/lib-esm/diff-parser';
import type { DiffFile } from 'diff2html/lib-esm/types';
import type { ChangedFile } from '../src/loops/changed-files.ts';
import type { LoopDiff } from '../src/loops/diff.ts';
import type { LoopRef } from '../src/loops/loops.ts';
import { counted } from '../src/loop/counted.ts';
import { ask } from './api.ts';
import { textOf } from './log.tsx';
import { shown } from './shown.ts';
import { useAnswer } from './use.ts';

interface Patch {
  readonly files: readonly DiffFile[];
  readonly count: number;
  readonly isWhole: boolean;
}

/** What a loop has changed; `special` are the files that a person should look at first. */
export function Diff({
  loop,
  what,
  special,
}: {
  readonly loop: LoopRef;
  readonly what: string | null;
  readonly special: readonly ChangedFile[];
}) {
  const { id, name, workspace } = loop;
  const answer = useAnswer<Patch>(
    async (signal) => {
      const diff = await ask('diff', [{ id, name, workspace }, what], signal);
      return patchOf({ id, name, workspace }, diff, signal);
    },
    [id, what],
  );
  if (answer.is === 'failed') return <p class="note">{shown(answer.why)}</p>;
  if (answer.is === 'asked') return <p class="note">Loading …</p>;
  const { files, count, isWhole } = answer.value;
  if (count === 0) return <p class="note">Nothing was changed.</p>;
  const kinds = new Map(special.map(({ path, as }) => [path, as]));
  const kindOf = (file: DiffFile): ChangedFile['as'] =>
    kinds.get(file.newName) ?? kinds.get(file.oldName) ?? 'other';
  const rank = (file: DiffFile): number => ORDER.indexOf(kindOf(file));
  const sorted = files.toSorted((a, b) => rank(a) - rank(b));
  return (
    <div class="diff">
      <p class="note">{counted(count, 'file')}</p>
      {sorted.map((file, index) => (
        <details key={`${file.oldName} ${file.newName}`} open={index < MOST_OPEN}>
          <summary>
            <code>{shown(nameOf(file))}</code> <span class="green">{`+${file.addedLines}`}</span>{' '}
            <span class="red">{`-${file.deletedLines}`}</span>
            {kindOf(file) !== 'other' && <mark>{kindOf(file)}</mark>}
          </summary>
          {file.isBinary === true ? <p class="note">binary</p> : linesOf(file)}
        </details>
      ))}
      {!isWhole && (
        <p class="note">
          The patch is longer. See all of it with{' '}
          <code>{`ralph diff ${name}${what === null ? '' : ` ${what}`}`}</code>.
        </p>
      )}
    </div>
  );
}

const ORDER: readonly ChangedFile['as'][] = ['protected', 'check', 'test', 'configuration', 'other'];
const MOST_OPEN = 5;
const MOST_BYTES = 1024 * 1024;
const MOST_LINES = 2000;

async function patchOf(loop: LoopRef, diff: LoopDiff, signal: AbortSignal): Promise<Patch> {
  const { before, after, files } = diff;
  let text = '';
  for (let from = 0; files.length > 0 && from < MOST_BYTES;) {
    // oxlint-disable-next-line no-await-in-loop -- one piece after the other
    const chunk = await ask('patch', [loop, { before, after }, { from }], signal);
    text += textOf(chunk.data);
    if (chunk.after === 'end') return { files: parse(text), count: files.length, isWhole: true };
    from = chunk.next;
  }
  // The last file is not whole.
  return { files: parse(text), count: files.length, isWhole: files.length === 0 };
}

function nameOf({ oldName, newName }: DiffFile): string {
  if (newName === '/dev/null') return `${oldName} (deleted)`;
  return oldName === newName || oldName === '/dev/null' ? newName : `${oldName} → ${newName}`;
}

function linesOf(file: DiffFile) {
  const lines = file.blocks.flatMap(({ header, lines: all }) => [
    { content: header, type: 'header' },
    ...all,
  ]);
  return (
    <pre tabIndex={0}>
      {lines.slice(0, MOST_LINES).map(({ content, type }, index) => (
        <span key={index} class={`line ${CLASSES[type] ?? ''}`}>
          {`${shown(content)}\n`}
        </span>
      ))}
      {lines.length > MOST_LINES && `… ${lines.length - MOST_LINES} more lines`}
    </pre>
  );
}

const CLASSES: Readonly<Record<string, string>> = { insert: 'added', delete: 'removed', header: 'place' };
