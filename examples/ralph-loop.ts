import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RalphLoop } from 'ralph-until-done';

mkdirSync('my-project/task-001', { recursive: true });
const bus = { append: ({ type, body }: { type: string; body: string }) => console.log(`${type} ${body}`) };
const loop = new RalphLoop('my-project/task-001', bus, {
  maxRestarts: 10,
  restartDelay: 0.1,
  rootRunner: async ({ env }, attempt) => {
    if (attempt === 0) throw new Error('exit status 1');
    writeFileSync(join(env['TASK_FOLDER'] ?? '', 'DONE'), '');
  },
});
await loop.run(AbortSignal.timeout(60_000));
