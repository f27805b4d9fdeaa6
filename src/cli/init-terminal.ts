import { Keyboard } from './keyboard.ts';
import type { Person } from './init-questions.ts';

/** They want none of it: Ctrl-C, Ctrl-D, a signal, or a terminal that is gone. */
export class Aborted extends Error {}

/**
 * Asks whoever sits at the terminal. Their keys come through our own keyboard, and a wrong answer is a new question: the
 * prompts would keep it in the line, in front of whatever is typed next.
 */
export async function atTerminal<Value>(
  talk: (person: Person) => Promise<Value>,
  lastWords: (value: Value) => string,
): Promise<Value> {
  const { intro, isCancel, log, outro, text } = await import('@clack/prompts');
  const keyboard = new Keyboard(process.stdin);
  const interrupt = (): void => keyboard.interrupt();
  for (const signal of SIGNALS) process.on(signal, interrupt);
  // A terminal that is gone cannot be written to either; its end is heard on the keyboard.
  process.stdout.on('error', ignore);
  try {
    intro('ralph init');
    const value = await talk({
      async answers({ text: message, suggestion, otherwise }) {
        const answer = text({
          message,
          input: keyboard,
          ...(suggestion === undefined ? {} : { initialValue: suggestion }),
          ...(otherwise === undefined ? {} : { placeholder: otherwise, defaultValue: otherwise }),
        });
        keyboard.ask(suggestion !== undefined);
        const given = await answer;
        if (isCancel(given)) throw new Aborted();
        return given;
      },
      hears: (words) => log.info(words),
      isCorrected: (problem) => log.error(problem),
    });
    outro(lastWords(value));
    return value;
  } finally {
    keyboard.close();
    for (const signal of SIGNALS) process.off(signal, interrupt);
    process.stdout.off('error', ignore);
  }
}

const ignore = (): void => {};
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
