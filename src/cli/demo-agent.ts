/** The agent of `ralph demo`: a script with three runs. It prints `AgentEvent` lines. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const USAGE_LIMIT_MS = 2000;
const PAUSE_MS = 400;

const calls = join(process.env['RUN_FOLDER'] ?? '.', '..', 'calls');
const call = existsSync(calls) ? Number(readFileSync(calls, 'utf8')) + 1 : 1;
writeFileSync(calls, String(call));
process.stdin.resume();

const print = async (event: object): Promise<void> => {
  process.stdout.write(`${JSON.stringify(event)}\n`);
  await sleep(PAUSE_MS);
};
const say = (text: string): Promise<void> =>
  print({ type: 'text', message: String(call), text: `${text}\n` });

void play().then(() => process.stdin.pause());

async function play(): Promise<void> {
  switch (call) {
    case 1:
      await say('(I am a script that plays an agent. No model is called.)');
      await print({ type: 'tool.start', id: '1', name: 'Read', input: 'greeting.txt' });
      await print({ type: 'tool.end', id: '1', ok: true, output: readFileSync('greeting.txt', 'utf8') });
      await say('Looks good to me.\n<promise>DONE</promise>');
      await print({ type: 'result', ok: true, text: null });
      break;
    case 2: {
      const resetsAt = Date.now() + USAGE_LIMIT_MS;
      await print({ type: 'limit', resetsAt, message: 'usage limit reached, resets in two seconds' });
      await print({ type: 'result', ok: false, text: null });
      process.exitCode = 1;
      break;
    }
    default:
      await say('The check says that the greeting is wrong: it has a typo.');
      await print({ type: 'tool.start', id: '1', name: 'Edit', input: 'greeting.txt' });
      writeFileSync('greeting.txt', 'hello world\n');
      await print({ type: 'tool.end', id: '1', ok: true, output: '' });
      await say('Fixed.\n<promise>DONE</promise>');
      await print({ type: 'result', ok: true, text: null });
  }
}
