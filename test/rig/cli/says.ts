import { until } from './until.ts';

/** Waits until a command has printed this; fails if it ends without it. */
export async function says(
  command: { readonly said: string },
  what: string | RegExp,
  isOver: () => boolean,
): Promise<void> {
  const has = (): boolean =>
    typeof what === 'string' ? command.said.includes(what) : what.test(command.said);
  await until(
    `${String(what)} from ralph`,
    () => {
      if (has()) return true;
      if (isOver()) throw new Error(`ralph ended without printing ${String(what)}:\n${command.said}`);
      return null;
    },
    { seen: () => command.said },
  );
}
