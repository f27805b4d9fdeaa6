import { createInterface } from 'node:readline';

/** Asks at the terminal. Only `y` or `yes` is yes: Ctrl-C, Ctrl-D, a closed terminal and an empty answer are no. */
export function askYesOrNo(question: string): Promise<boolean> {
  return new Promise((resolve) => {
    const terminal = createInterface({ input: process.stdin, output: process.stdout, historySize: 0 });
    let isYes = false;
    // Without a listener, readline leaves a Ctrl-C to the process.
    terminal.on('SIGINT', () => terminal.close());
    terminal.on('close', () => {
      if (!isYes) process.stdout.write('\n');
      resolve(isYes);
    });
    terminal.question(question, (answer) => {
      isYes = /^\s*y(?:es)?\s*$/i.test(answer);
      terminal.close();
    });
  });
}
