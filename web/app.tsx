import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { LoopRow } from '../src/loops/list.ts';
import { counted } from '../src/loop/counted.ts';
import { needOf } from '../src/text/needs.ts';
import { Iteration } from './iteration.tsx';
import { Loop } from './loop.tsx';
import { Morning } from './morning.tsx';
import { Overview } from './overview.tsx';
import { shown } from './shown.ts';
import { token } from './token.ts';
import { useList } from './use.ts';

/** The page: where it is stands in the fragment of the address. */
export function App() {
  const path = usePath();
  const list = useList();
  const heading = useRef<HTMLElement>(null);
  const rows = [...list.rows.values()];
  const [view = '', id = '', number = ''] = path.split('/');
  const row = list.rows.get(id);
  useEffect(() => {
    document.title = row === undefined ? 'Ralph' : `${row.name} – Ralph`;
  }, [row?.name]);
  useEffect(() => heading.current?.focus(), [path]);
  if (token() === null || list.isShutOut) return <ShutOut isOld={list.isShutOut} />;
  return (
    <>
      <header>
        <a class="brand" href="#/">
          Ralph
        </a>
        <nav aria-label="Views">
          <a href="#/" aria-current={view === '' ? 'page' : undefined}>
            Loops
          </a>
          <a href="#/morning" aria-current={view === 'morning' ? 'page' : undefined}>
            Morning
          </a>
        </nav>
        {list.isReadOnly && <span class="note">read-only</span>}
        <span class="note connection" role="status">
          {list.trouble ?? 'live'}
        </span>
      </header>
      <Needs rows={rows} />
      <main ref={heading} tabIndex={-1}>
        {viewAt()}
      </main>
      <footer>
        From another machine: <code>{`ssh -L ${location.port}:127.0.0.1:${location.port} THIS_MACHINE`}</code>
        , then the same address there.
      </footer>
    </>
  );

  function viewAt(): ComponentChildren {
    if (view === 'morning') return <Morning rows={rows} isComplete={list.mark !== null} />;
    if (view !== 'loop') return <Overview list={list} />;
    if (row === undefined)
      return <p>{list.mark === null ? 'Loading …' : 'This loop is not in the list any more.'}</p>;
    if (number !== '')
      return (
        <Iteration
          key={`${id} ${number}`}
          row={row}
          iteration={Number(number)}
          isReadOnly={list.isReadOnly}
        />
      );
    return <Loop key={id} row={row} isReadOnly={list.isReadOnly} />;
  }
}

/** What waits for a person, one click away. */
function Needs({ rows }: { readonly rows: readonly LoopRow[] }) {
  const needing = rows.flatMap((row) => {
    const need = needOf(row);
    return need === null ? [] : [{ row, need }];
  });
  if (needing.length === 0) return null;
  return (
    <nav class="needs" aria-label="Loops that need you">
      <strong>{`${counted(needing.length, 'loop')} ${needing.length === 1 ? 'needs' : 'need'} you`}</strong>
      <ul>
        {needing.slice(0, MOST_NEEDS).map(({ row, need }) => (
          <li key={row.id}>
            <a href={`#/loop/${row.id}`}>
              <b>{shown(row.name)}</b>
            </a>{' '}
            <span>{shown(need)}</span>
          </li>
        ))}
        {needing.length > MOST_NEEDS && <li>{`and ${needing.length - MOST_NEEDS} more`}</li>}
      </ul>
    </nav>
  );
}

const MOST_NEEDS = 8;

function ShutOut({ isOld }: { readonly isOld: boolean }) {
  return (
    <main>
      <h1>Ralph</h1>
      <p role="alert">
        {isOld
          ? 'This page belongs to an earlier start of ralph ui. Open the address that the running one has printed.'
          : 'This address has no token. Open the whole address that ralph ui has printed.'}
      </p>
    </main>
  );
}

function usePath(): string {
  const [path, setPath] = useState(location.hash.slice(2));
  useEffect(() => {
    const change = (): void => setPath(location.hash.slice(2));
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return path;
}
