import { expect } from 'vitest';
import { DONE, follow, type Advice } from './follow.ts';
import { waitFor, type Stage } from './stage.ts';

/** Options with which a loop writes the command of each notice into a file. */
const telling = ['-p', 'x', '-m', '1', '--notify', 'command echo "$RALPH_NOTICE_COMMAND" >>told'];

const told = (stage: Stage): string => stage.read('told');

export const NOTICES: readonly Advice[] = [
  {
    situation: 'a notice says that a loop has ended',
    from: [
      'text/notices.ts: ralph status …',
      'text/notices.ts: ralph diff …',
      'text/notices.ts: ralph resume …',
    ],
    async follow(stage) {
      stage.plans(1, 'true');
      stage.plans(2, DONE);
      // Asks for a person.
      stage.plans('default', 'exit 42');
      await stage.run(...telling);
      await follow(stage, told(stage), 'ralph status it', { code: 1 });
      await stage.run(...telling, '--fresh');
      await follow(stage, told(stage), 'ralph diff it');
      await stage.run(...telling, '--fresh', '--preset', 'conductor', '-m', '5');
      await follow(stage, told(stage), 'ralph resume it');
    },
  },
  {
    situation: 'a notice passes on a question',
    from: ['text/notices.ts: ralph answer … "…" --question …'],
    async follow(stage) {
      stage.plans(1, '$RALPH bus post --type QUESTION "Tabs or spaces?"');
      stage.plans(2, `${waitFor()}; ${DONE}`);
      stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
      const loop = stage.starts(...telling, '-m', '3');
      await loop.until('ralph answer it "…"');
      await stage.waitForFile(stage.path('told'));
      await stage.until('its command', () => told(stage).includes('--question'));
      await follow(stage, told(stage), 'ralph answer it "…" --question', { write: { '…': 'tabs' } });
      await stage.waitForCall(2);
      stage.release();
      expect((await loop.ended).code).toBe(0);
    },
  },
];
