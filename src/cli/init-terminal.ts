import { Keyboard } from './keyboard.ts';
import { asTyped } from './typed-name.ts';
import type { Prompter } from './init-questions.ts';

/** The user aborted: Ctrl-C, Ctrl-D, a signal, or a closed terminal. */
export class Aborted extends Error {}

/**
 * Asks questions at the terminal. `Keyboard` passes the keys on, and a wrong answer leads to a new prompt: the same
 * prompt would keep the wrong answer in its line.
 */
export async function atTerminal<Value>(
  conversation: (prompter: Prompter) => Promise<Value>,
  lastLine: (value: Value) => string,
): Promise<Value> {
  const { intro, isCancel, log, outro, text } = await import('@clack/prompts');
  const keyboard = new Keyboard(process.stdin);
  const interrupt = (): void => keyboard.interrupt();
  for (const signal of SIGNALS) process.on(signal, interrupt);
  // Writing to a closed terminal fails; the keyboard reports that it is closed.
  process.stdout.on('error', ignore);
  try {
    intro('ralph init');
    const value = await conversation({
      async ask({ text: message, suggestion, fallback }) {
        const answer = text({
          message,
          input: keyboard,
          ...(suggestion === undefined ? {} : { initialValue: suggestion }),
          ...(fallback === undefined ? {} : { placeholder: fallback, defaultValue: fallback }),
        });
        keyboard.ask(suggestion !== undefined);
        const given = await answer;
        if (isCancel(given)) throw new Aborted();
        return given;
      },
      note: (words) => log.info(words),
      error: (problem) => log.error(problem),
    });
    outro(asTyped(lastLine(value)));
    return value;
  } finally {
    keyboard.close();
    for (const signal of SIGNALS) process.off(signal, interrupt);
    process.stdout.off('error', ignore);
  }
}

const ignore = (): void => {};
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
