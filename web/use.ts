/** What the views know, as it changes. */
import { useEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { Told } from '../src/loops/events.ts';
import type { LoopRef, LoopView } from '../src/loops/loops.ts';
import { reasonOf } from './api.ts';
import { live, type ListNow } from './live.ts';

export function useList(): ListNow {
  const [list, setList] = useState(live.list);
  useEffect(() => {
    setList(live.list);
    return live.watch(() => setList(live.list));
  }, []);
  return list;
}

/** The time, every second. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export interface LoopNow {
  readonly view: LoopView | null;
  /** The last of what has happened. */
  readonly told: readonly Told[];
  /** How much came before it. */
  readonly skipped: number;
  readonly trouble: string | null;
}

/** A loop as it is, and what happens in it; the view is drawn at most once per frame. */
export function useLoop(loop: LoopRef): LoopNow {
  const now = useRef<LoopNow>({ view: null, told: [], skipped: 0, trouble: null });
  const [, draw] = useReducer<number, null>((count) => count + 1, 0);
  useEffect(() => {
    now.current = { view: null, told: [], skipped: 0, trouble: null };
    let frame = 0;
    const change = (part: Partial<LoopNow>): void => {
      now.current = { ...now.current, ...part };
      if (frame === 0)
        frame = requestAnimationFrame(() => {
          frame = 0;
          draw(null);
        });
    };
    const stop = live.follow(loop, {
      view: (view) => change({ view }),
      told: (told, skipped) => {
        const all = [...now.current.told, ...told];
        const over = Math.max(0, all.length - MOST_TOLD);
        change({ told: all.slice(over), skipped: now.current.skipped + skipped + over });
      },
      trouble: (trouble) => {
        if (trouble !== now.current.trouble) change({ trouble });
      },
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, [loop.id]);
  return now.current;
}

const MOST_TOLD = 3000;

export type Answered<T> =
  | { readonly is: 'asked' }
  | { readonly is: 'answered'; readonly value: T }
  | { readonly is: 'failed'; readonly why: string };

/** The answer to a question, asked again when one of `about` has changed; the last answer stays until the next one is here. */
export function useAnswer<T>(
  question: (signal: AbortSignal) => Promise<T>,
  about: readonly unknown[],
): Answered<T> {
  const [answer, setAnswer] = useState<Answered<T>>({ is: 'asked' });
  useEffect(() => {
    const asking = new AbortController();
    const tell = (one: Answered<T>): void => {
      if (!asking.signal.aborted) setAnswer(one);
    };
    question(asking.signal).then(
      (value) => tell({ is: 'answered', value }),
      (error: unknown) => tell({ is: 'failed', why: reasonOf(error) }),
    );
    return () => asking.abort();
  }, about);
  return answer;
}
