import { readFileSync, rmSync } from 'node:fs';
import { expect, it } from 'vitest';
import { rewriteJournal } from './rewrite-journal.ts';
import { openLoadedStage } from './stage.ts';

it.each([
  ['swarm', 'loop complete after 2 iterations'],
  ['conductor', 'max restarts exceeded'],
])('a journal of %s without `policy.wording` is shown and resumed as before', async (preset, text) => {
  const stage = openLoadedStage();
  const journal = (): string => readFileSync(stage.file('journal.jsonl'), 'utf8');
  await stage.run('-p', 'work', '--preset', preset, '-m', '1');
  const shown = await stage.ralph('status', 'it').ended;
  expect(journal()).toContain('"wording"');
  rewriteJournal(stage, (event) => ({ ...event, policy: withoutWording(event['policy']) }));
  expect(journal()).not.toContain('"wording"');
  rmSync(stage.file('snapshot.json'), { force: true });

  expect(await stage.ralph('status', 'it').ended).toEqual(shown);
  const resumed = await stage.ralph('resume', 'it', '-m', '2').ended;
  expect(resumed.stderr).toContain(text);
  expect(stage.calls).toBe(2);
});

/** A policy as an earlier version wrote it. */
function withoutWording(policy: unknown): unknown {
  if (typeof policy !== 'object' || policy === null) return policy;
  return Object.fromEntries(Object.entries(policy).filter(([field]) => field !== 'wording'));
}
