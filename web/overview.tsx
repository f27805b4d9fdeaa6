import { useState } from 'preact/hooks';
import type { LoopRow } from '../src/loops/list.ts';
import { duration } from '../src/loop/counted.ts';
import { byNeed, cellsOf, colourOf, inTree, type ListedLoop } from '../src/text/list.ts';
import type { ListNow } from './live.ts';
import { shown } from './shown.ts';
import { useNow } from './use.ts';

type Order = 'place' | 'need';

/** A row per loop. Rows keep their places unless a person sorts them. */
export function Overview({ list }: { readonly list: ListNow }) {
  const [order, setOrder] = useState<Order>('place');
  const [wanted, setWanted] = useState('');
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const now = useNow();
  const all = [...list.rows.values()].toSorted(byPlace);
  const rows = wanted === '' ? all : all.filter((row) => wordsOf(row).includes(wanted.toLowerCase()));
  const listed = inTree(order === 'need' ? byNeed(rows) : rows);
  const visible = listed.filter((_, index) => isUnfolded(listed, index, open));
  if (list.mark === null) return <p>Loading …</p>;
  return (
    <>
      <h1>Loops</h1>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>
          Filter{' '}
          <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
        </label>
        <label>
          Order{' '}
          <select
            value={order}
            onChange={(event) => setOrder(event.currentTarget.value === 'need' ? 'need' : 'place')}
          >
            <option value="place">workspace and start</option>
            <option value="need">need</option>
          </select>
        </label>
        <span class="note">{`${rows.length} of ${all.length}`}</span>
      </form>
      {all.length === 0 ? (
        <p>
          There are no loops. Start one with <code>ralph run</code>.
        </p>
      ) : (
        <table class="loops">
          <thead>
            <tr>
              <th scope="col">Loop</th>
              <th scope="col">State</th>
              <th scope="col">Iteration</th>
              <th scope="col">Checks</th>
              <th scope="col">Cost</th>
              <th scope="col">Now</th>
              <th scope="col">Task</th>
            </tr>
          </thead>
          <tbody>{visible.map((one) => rowOf(one))}</tbody>
        </table>
      )}
    </>
  );

  function rowOf({ row, level }: ListedLoop) {
    const cells = cellsOf(row, 0, Infinity, now);
    const doing = row.owner === null ? null : list.doing[row.id];
    const children = rows.filter(({ parent }) => parent === row.id).length;
    const isOpen = open.has(row.id);
    return (
      <tr key={row.id} data-loop={row.name}>
        <th scope="row" class={`level-${Math.min(level, 4)}`}>
          <a href={`#/loop/${row.id}`}>{shown(row.name)}</a>
          {children > 0 && (
            <button
              type="button"
              class="fold"
              aria-expanded={isOpen}
              aria-label={`child loops of ${row.name}`}
              onClick={() => setOpen(toggled(open, row.id))}
            >
              {`${isOpen ? '▾' : '▸'} ${children}`}
            </button>
          )}
          <small>{shown([row.workspace, cells.branch].filter((part) => part !== '').join(' · '))}</small>
        </th>
        <td data-head="State" class={`short ${colourOf('STATE', cells.state) ?? ''}`}>
          {shown(cells.state)}
        </td>
        <td data-head="Iteration" class="short">
          {cells.iterations}
        </td>
        <td data-head="Checks" class={`short ${colourOf('CHECKS', cells.checks || '-') ?? ''}`}>
          {cells.checks || '–'}
        </td>
        <td data-head="Cost" class="short">
          {cells.cost || '–'}
        </td>
        <td data-head="Now" class="now">
          {doing === null || doing === undefined
            ? shown(cells.reason)
            : `${shown(doing.what).slice(0, 120)} · ${duration(Math.max(0, now - doing.since), ' ')}`}
        </td>
        <td data-head="Task" class="task">
          {shown(cells.task)}
        </td>
      </tr>
    );
  }
}

/** By workspace, then by start: it does not change while a loop runs. */
function byPlace(a: LoopRow, b: LoopRow): number {
  return (
    a.workspace.localeCompare(b.workspace) ||
    (a.worker.startedAt ?? 0) - (b.worker.startedAt ?? 0) ||
    a.name.localeCompare(b.name)
  );
}

function wordsOf({ name, workspace, about, status, tags = [] }: LoopRow): string {
  return [name, workspace, about.task, about.branch, status, ...tags].join(' ').toLowerCase();
}

/** A loop below others is shown while all of them are unfolded. */
function isUnfolded(listed: readonly ListedLoop[], index: number, open: ReadonlySet<string>): boolean {
  let level = listed[index]?.level ?? 0;
  for (let at = index - 1; at >= 0 && level > 0; at--) {
    const above = listed[at];
    if (above === undefined || above.level >= level) continue;
    if (!open.has(above.row.id)) return false;
    ({ level } = above);
  }
  return true;
}

function toggled(open: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(open);
  if (!next.delete(id)) next.add(id);
  return next;
}
