import { NotStarted, type Host, type HostedRun, type OutputStream } from '../../src/hosts/host.ts';
import type { Receipt } from '../../src/loop/receipt.ts';
import type { Life } from './life.ts';
import type { AgentProcess, FakeWorld } from './world.ts';

/** The host of a fake world's agents, as one driver process sees it. */
export function fakeHost(world: FakeWorld, life: Life, isWanted: (key: string) => boolean): Host {
  return {
    outlivesOwner: true,
    find({ run, receipt }) {
      return life.takes(1, `the search for run ${run}`, () => {
        const process = world.processes.get(run);
        // An agent that never started left nothing to find.
        if (process === undefined || !world.everStarted(run)) return null;
        const { pid } = receiptOf(process, world);
        life.must(receipt === null || receipt.pid === pid, 'L4', `the receipt does not belong to run ${run}`);
        return hosted(process, world, life);
      });
    },
    start({ run }) {
      if (!life.isDead) {
        life.touches(`run ${run}`);
        life.must(isWanted(`run:${run}`), 'E2', `run ${run} is started but not wanted`);
        life.must(!world.everStarted(run), 'L4', `run ${run} is started a second time`);
        life.must(world.prompts.has(run), 'L4', `run ${run} is started without a prompt`);
        const others = world.alive();
        life.must(
          others.length === 0,
          'L4',
          `run ${run} is started while another runs: ${others.join(', ')}`,
        );
      }
      // A broken rule has ended this process.
      if (life.isDead) return new Promise(() => {});
      const process = world.spawn(run);
      return life.takes(1, `the start of run ${run}`, () => {
        const { ending } = process.script;
        if (ending.how === 'not-started') throw new NotStarted(ending.error);
        return hosted(process, world, life);
      });
    },
  };
}

/**
 * A run prints in the middle, at its end and when it is killed; as with a real file, the last output may only be found
 * when the run is closed. A chunk contains only the time at which it was printed. Two endings must be caused by the
 * driver: `timed-out: output` is a chunk of more than `FLOOD_BYTES` at the end, after which the agent exits with 0;
 * `timed-out: inactivity` is an agent that keeps running silently (`quietAfterMs`) until it times out.
 */
function hosted(process: AgentProcess, world: FakeWorld, life: Life): HostedRun {
  const { run, script, startedAt, endsAt } = process;
  const { clock } = life;
  const over = life.begin(`run ${run}`);
  const floods = script.ending.how === 'timed-out' && script.ending.which === 'output';
  const printsForMs = script.quietAfterMs ?? script.ms;
  const half = startedAt + printsForMs / 2;
  const finishedAt = startedAt + printsForMs;
  const hasEnded = (): boolean => !world.alive().includes(run);
  let take: ((chunk: Buffer, stream: OutputStream) => unknown) | null = null;
  let handedOver = -1;
  // Like a tail, it keeps the error of the taker for `close`.
  let refusal: unknown = null;
  const handOver = (): void => {
    try {
      if (refusal === null) handOverNews();
    } catch (error) {
      refusal = error;
    }
  };
  const handOverNews = (): void => {
    const printedAt = [half, finishedAt, process.killedAt ?? startedAt].filter(
      (moment) => moment <= clock.now(),
    );
    const last = Math.max(startedAt, ...printedAt);
    if (take === null || last <= handedOver) return;
    handedOver = last;
    take(SOME, 'stderr');
    const chunk = floods && last >= endsAt ? FLOOD : SOME;
    chunk.writeDoubleLE(last);
    take(chunk, 'stdout');
  };
  let end = (): void => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  if (hasEnded()) end();
  const isTailSlow = !floods && receiptOf(process, world).pid % 2 === 0;
  const timers = [half, finishedAt]
    .filter((moment) => moment > clock.now() && (moment < endsAt || !isTailSlow))
    .map((moment) => clock.at(moment, handOver));
  timers.push(clock.at(endsAt, end));

  return {
    isOfEarlierBoot: false,
    receipt: receiptOf(process, world),
    ended,
    follow(taker) {
      take = taker;
      if (clock.now() >= half) handOver();
    },
    stop(graceMs) {
      life.stops(run);
      // An agent that never exits by itself ignores SIGTERM too.
      const ms = hasEnded() ? 1 : endsAt === Number.POSITIVE_INFINITY ? graceMs : Math.min(graceMs, 2);
      return life.later(ms, () => {
        world.kill(run);
        end();
        return [];
      });
    },
    detach() {
      return life.later(1, () => {
        for (const cancel of timers) cancel();
        over();
      });
    },
    close() {
      return life.later(1, () => {
        life.must(hasEnded(), 'L4', `run ${run} is closed but still runs`);
        for (const cancel of timers) cancel();
        handOver();
        over();
        if (refusal !== null) throw refusal;
        if (process.killedAt !== null) return null;
        return script.ending.how === 'exited' ? script.ending.code : 0;
      });
    },
  };
}

/** The output limit in the policies of these histories; a flood exceeds it. */
export const FLOOD_BYTES = 10_000;
const FLOOD = Buffer.alloc(FLOOD_BYTES + 1);
const SOME = Buffer.alloc(100);

function receiptOf({ run }: AgentProcess, world: FakeWorld): Receipt {
  const pid = [...world.processes.keys()].indexOf(run) + 1;
  return { pid, startTime: '1', bootId: 'b', pidNamespace: 'n' };
}
