import { expect } from 'vitest';
import { DONE, follow, type Advice } from './follow.ts';
import { waitFor, type Stage } from './stage.ts';

const report = async (stage: Stage): Promise<string> => (await stage.ralph('report', 'it').ended).stdout;

export const REPORTS: readonly Advice[] = [
  {
    situation: 'the report of a loop shows changes that no check has verified',
    from: ['text/look-first.ts: ralph diff …', 'text/night-rows.ts: ralph diff …'],
    async follow(stage) {
      stage.plans('default', `echo x >new; ${DONE}`);
      await stage.run('-p', 'x', '-m', '1');
      const told = await report(stage);
      await follow(stage, told.slice(told.indexOf('look first')), 'ralph diff it');
      await follow(stage, told.slice(told.indexOf('changed ')), 'ralph diff it');
    },
  },
  {
    situation: 'the report of a running loop shows a question',
    from: ['text/look-first.ts: ralph answer … "…"', 'text/summary.ts: ralph logs … -f'],
    async follow(stage) {
      stage.plans(1, `$RALPH bus post --type QUESTION "Tabs or spaces?"`);
      stage.plans(2, `${waitFor()}; ${DONE}`);
      stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
      const loop = stage.starts('-p', 'x', '-m', '3');
      await loop.until('ralph answer it "…"');
      const told = await report(stage);
      await follow(stage, told, 'ralph answer it "…"', { write: { '…': 'tabs' } });
      await stage.waitForCall(2);
      const followed = follow(stage, told, 'ralph logs it -f');
      stage.release();
      expect((await followed).stdout + (await loop.ended).stderr).toContain('done');
    },
  },
  {
    situation: 'the report of a loop says that its process died, or that its agent asks for a person',
    from: ['text/look-first.ts: ralph story …', 'text/look-first.ts: ralph logs …'],
    async follow(stage) {
      stage.plans(1, waitFor());
      const loop = stage.process('run', '--name', 'it', '-p', 'x', '-m', '1', '--', stage.agent);
      await stage.waitForCall(1);
      await stage.waitForEvents('run.started');
      loop.signal('SIGKILL');
      await loop.ended;
      stage.release();
      const told = await report(stage);
      await follow(stage, told.slice(told.indexOf('look first')), 'ralph story it');
      stage.plans('default', 'exit 42');
      await stage.run('-p', 'x', '-m', '5', '--fresh', '--preset', 'conductor');
      await follow(stage, await report(stage), 'ralph logs it');
    },
  },
];
