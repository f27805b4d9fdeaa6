import { useState } from 'preact/hooks';
import type { LoopFacts } from '../src/loops/facts.ts';
import type { LoopRow } from '../src/loops/list.ts';
import { counted } from '../src/loop/counted.ts';
import { ofTheNight, rowNeedsPerson } from '../src/text/look-first.ts';
import { summaryRows } from '../src/text/summary.ts';
import { localMinute } from '../src/text/times.ts';
import { ask } from './api.ts';
import { shown } from './shown.ts';
import { useAnswer } from './use.ts';

/** What the loops of the night did, those that need a person first: what `ralph report --all` says. */
export function Morning({
  rows,
  isComplete,
}: {
  readonly rows: readonly LoopRow[];
  readonly isComplete: boolean;
}) {
  const [hours, setHours] = useState(12);
  const [since, setSince] = useState(() => Date.now() - 12 * HOUR);
  if (!isComplete) return <p>Loading …</p>;
  const night = ofTheNight(rows, since);
  const needed = night.filter(rowNeedsPerson).length;
  return (
    <>
      <h1>Morning</h1>
      <form class="tools" onSubmit={(event) => event.preventDefault()}>
        <label>
          Since{' '}
          <select
            value={hours}
            onChange={(event) => {
              const chosen = Number(event.currentTarget.value);
              setHours(chosen);
              setSince(Date.now() - chosen * HOUR);
            }}
          >
            <option value={12}>12 hours ago</option>
            <option value={24}>24 hours ago</option>
            <option value={72}>3 days ago</option>
            <option value={168}>a week ago</option>
          </select>
        </label>
      </form>
      <p>
        {`${counted(night.length, 'loop')} since ${localMinute(since)}${
          needed === 0 ? '' : `; ${needed} ${needed === 1 ? 'needs' : 'need'} a person`
        }`}
      </p>
      {night.slice(0, MOST).map((row) => (
        <Night key={row.id} row={row} since={since} />
      ))}
      {night.length > MOST && (
        <p class="note">
          {`and ${night.length - MOST} more; the report of all: `}
          <code>ralph report --all --format html --output report.html</code>
        </p>
      )}
    </>
  );
}

const HOUR = 3_600_000;
const MOST = 20;

function Night({ row, since }: { readonly row: LoopRow; readonly since: number }) {
  const { id, name, workspace, status, iterations } = row;
  const facts = useAnswer<LoopFacts>(
    (signal) =>
      ask(
        'facts',
        [
          { id, name, workspace },
          { since: Math.floor(since), countsTests: false },
        ],
        signal,
      ),
    [id, since, status, iterations],
  );
  return (
    <article class={rowNeedsPerson(row) ? 'bad' : status === 'done' ? 'good' : ''}>
      <h2>
        <a href={`#/loop/${id}`}>{shown(name)}</a> <small>{status}</small>
      </h2>
      <p class="note">{shown(workspace)}</p>
      {facts.is === 'asked' && <p class="note">Loading …</p>}
      {facts.is === 'failed' && <p class="red">{shown(facts.why)}</p>}
      {facts.is === 'answered' && (
        <table class="facts">
          <tbody>
            {summaryRows(facts.value, { home: undefined }).map(([label, text], index) => (
              <tr key={index}>
                <th scope="row">{label}</th>
                <td>{shown(text)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </article>
  );
}
