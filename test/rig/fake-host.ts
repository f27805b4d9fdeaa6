import { NotStarted, type Host, type HostedRun, type OutputStream } from '../../src/hosts/host.ts';
import type { Receipt } from '../../src/loop/event.ts';
import type { Life } from './life.ts';
import type { AgentProcess, FakeWorld } from './world.ts';

/** Where the agents of a fake world live, as one process of the harness sees it. */
export function fakeHost(world: FakeWorld, life: Life, isWanted: (key: string) => boolean): Host {
  return {
    outlivesOwner: true,
    find({ run, receipt }) {
      return life.takes(1, `the search for run ${run}`, () => {
        const process = world.processes.get(run);
        // One that never came to life left nothing that could be found.
        if (process === undefined || !world.hasLived(run)) return null;
        const { pid } = receiptOf(process, world);
        life.must(receipt === null || receipt.pid === pid, 'L4', `another receipt than that of run ${run}`);
        return hosted(process, world, life);
      });
    },
    start({ run }) {
      if (!life.isDead) {
        life.touches(`run ${run}`);
        life.must(isWanted(`run:${run}`), 'E2', `run ${run} is started and nobody wants it`);
        life.must(!world.hasLived(run), 'L4', `run ${run} was started and is started again`);
        life.must(world.prompts.has(run), 'L4', `run ${run} is started and has no prompt`);
        const others = world.alive();
        life.must(others.length === 0, 'L4', `run ${run} is started beside ${others.join(', ')}`);
      }
      // A rule may just have been broken, and then this process is no more.
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
 * A run puts something out in the middle, at its end and when it is killed, and the very last of it may be found only
 * when it is let go of, as with a real file. A chunk says when it was put out, and nothing else. A run has two endings that a driver has to bring about itself:
 * `timed-out: output` is a chunk of more than `FLOOD_BYTES` at its end, after which it exits with 0;
 * `timed-out: inactivity` is an agent that lives on in silence (`quietAfterMs`), until somebody loses patience.
 */
function hosted(process: AgentProcess, world: FakeWorld, life: Life): HostedRun {
  const { run, script, startedAt, endsAt } = process;
  const { clock } = life;
  const over = life.begin(`run ${run}`);
  const floods = script.ending.how === 'timed-out' && script.ending.which === 'output';
  const talksFor = script.quietAfterMs ?? script.ms;
  const half = startedAt + talksFor / 2;
  const saidAllAt = startedAt + talksFor;
  const hasEnded = (): boolean => !world.alive().includes(run);
  let take: ((chunk: Buffer, stream: OutputStream) => unknown) | null = null;
  let handedOver = -1;
  const handOver = (): void => {
    const spoke = [half, saidAllAt, process.killedAt ?? startedAt].filter((moment) => moment <= clock.now());
    const last = Math.max(startedAt, ...spoke);
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
  const timers = [half, saidAllAt]
    .filter((moment) => moment > clock.now() && (moment < endsAt || !isTailSlow))
    .map((moment) => clock.at(moment, handOver));
  timers.push(clock.at(endsAt, end));

  return {
    receipt: receiptOf(process, world),
    ended,
    follow(taker) {
      take = taker;
      if (clock.now() >= half) handOver();
    },
    stop(graceMs) {
      life.stops(run);
      // An agent that never ends by itself does not listen either.
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
        life.must(hasEnded(), 'L4', `run ${run} is let go of and lives`);
        for (const cancel of timers) cancel();
        handOver();
        over();
        if (process.killedAt !== null) return null;
        return script.ending.how === 'exited' ? script.ending.code : 0;
      });
    },
  };
}

/** More than a run may put out; the policies of these histories have a limit that is worth reaching. */
export const FLOOD_BYTES = 10_000;
const FLOOD = Buffer.alloc(FLOOD_BYTES + 1);
const SOME = Buffer.alloc(100);

function receiptOf({ run }: AgentProcess, world: FakeWorld): Receipt {
  const pid = [...world.processes.keys()].indexOf(run) + 1;
  return { pid, startTime: '1', bootId: 'b', pidNamespace: 'n' };
}
