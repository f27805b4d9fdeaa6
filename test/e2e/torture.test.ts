import { existsSync, statSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedLoop } from '../rig/cli/recorded-loop.ts';
import { seededRandom } from '../rig/seeded-random.ts';
import { until } from '../rig/cli/until.ts';
import { setUpRig, type Rig } from '../rig/cli/rig.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await setUpRig();
});
afterEach(() => rig.tearDown());

const ITERATIONS = 30;
const KILLS = 100;

describe(`a loop whose owner is killed ${KILLS} times`, () => {
  it('runs every iteration exactly once', { timeout: 120_000 }, async () => {
    const seed = Number(process.env['RALPH_SEED'] ?? Date.now() % 1_000_000);
    const random = seededRandom(seed);
    const loop = rig.loop('a');
    const agent = rig.plain(
      'echo "$RALPH_ITERATION" >>work; [ $((RALPH_ITERATION % 3)) = 0 ] && sleep 0.03; exit 0',
    );
    const start = ['run', 'task', '--name', 'a', '-m', String(ITERATIONS), '--check', 'echo x >>checked'];

    let code: number | null = null;
    for (let life = 0; code === null; life++) {
      // The first owner may be killed before there is a loop to resume.
      const exists = existsSync(loop.file('journal.jsonl')) && loop.events.length > 0;
      const program = rig.ralph(exists ? ['resume', 'a'] : [...start, '--', ...agent]);
      if (life < KILLS) {
        // One owner in five is killed before its first event, the others soon after it.
        // oxlint-disable-next-line no-await-in-loop -- one life after the other
        if (random() > 0.2) await journalGrows(loop, () => program.isOver);
        // oxlint-disable-next-line no-await-in-loop -- as above
        await Promise.race([sleep(random() * 40), program.ended]);
        if (!program.isOver) process.kill(program.pid, 'SIGKILL');
      }
      // oxlint-disable-next-line no-await-in-loop -- as above
      const end = await program.ended;
      expect([null, 1], `RALPH_SEED=${seed} life ${life}: ${end.stderr}`).toContain(end.code);
      code = end.code;
    }

    const numbers = Array.from({ length: ITERATIONS }, (_, index) => index + 1);
    expect(rig.lines('work').map(Number), `RALPH_SEED=${seed}`).toEqual(numbers);
    expect(loop.all('iteration.started').map(({ iteration }) => iteration)).toEqual(numbers);
    expect(loop.all('run.ended').map(({ run, as }) => [run, as])).toEqual(
      numbers.map((n) => [`${n}.1`, 'ok']),
    );
    expect(loop.all('check.finished').map(({ iteration, result }) => [iteration, result.code])).toEqual(
      numbers.map((n) => [n, 0]),
    );
    expect(loop.state.outcome, `RALPH_SEED=${seed}`).toEqual({
      type: 'iterations-exhausted',
      limit: ITERATIONS,
    });
    expect(loop.all('owner.changed').length, `RALPH_SEED=${seed}`).toBeGreaterThan(30);
    expect(rig.left()).toEqual([]);
  });
});

/** Waits until the journal is longer than it is now. */
async function journalGrows(loop: RecordedLoop, isOver: () => boolean): Promise<void> {
  const size = (): number => statSync(loop.file('journal.jsonl'), { throwIfNoEntry: false })?.size ?? 0;
  const before = size();
  await until('a longer journal', () => (isOver() || size() > before ? true : null), { folder: loop.folder });
}
