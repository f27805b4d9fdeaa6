import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect } from 'vitest';
import { advised, DONE, follow, pasted, said, type Advice } from './follow.ts';
import { waitFor, type Stage } from './stage.ts';

const once = ['-p', 'x', '-m', '1'];

/** Ralph was killed while the agent of its loop `it` works. */
async function crashed(stage: Stage): Promise<void> {
  stage.plans(1, waitFor());
  stage.plans('default', DONE);
  const ralph = stage.process('run', '--name', 'it', ...once, '--', stage.agent);
  await stage.waitForCall(1);
  await stage.waitForEvents('run.started');
  ralph.signal('SIGKILL');
  await ralph.ended;
}

/** Runs `use` while the loop `it` works, and lets it end. */
async function whileRunning(stage: Stage, use: () => Promise<void>): Promise<void> {
  stage.plans('default', `${waitFor()}; ${DONE}`);
  const ralph = stage.starts('-p', 'x', '-m', '3');
  await stage.waitForCall(1);
  await stage.waitForEvents('run.started');
  await use();
  stage.release();
  await ralph.ended;
}

/** An agent that reports its cost and tokens. */
function reporting(stage: Stage): void {
  stage.installs('claude');
  const result = {
    type: 'result',
    subtype: 'success',
    is_error: false,
    result: 'x',
    total_cost_usd: 1,
    usage: { input_tokens: 500, output_tokens: 500 },
  };
  stage.write('stream', `${JSON.stringify(result)}\n`);
  stage.plans('default', 'cat stream');
}

export const LOOPS: readonly Advice[] = [
  {
    situation: 'the iteration limit was reached',
    from: ['text/summary.ts: ralph story …'],
    async follow(stage) {
      const { stderr } = await stage.run(...once);
      await follow(stage, stderr, 'ralph story it');
      await follow(stage, stderr, 'ralph resume it -m', { code: 1 });
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'the time limit was reached',
    from: [],
    async follow(stage) {
      stage.plans(1, waitFor('never'));
      stage.plans('default', DONE);
      const { stderr } = await stage.run('-p', 'x', '--max-time', '1s');
      await follow(stage, stderr, 'ralph resume it --max-time');
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'the cost limit was reached',
    from: [],
    async follow(stage) {
      reporting(stage);
      const args = ['--name', 'it', '-p', 'x', '--agent', 'claude', '--max-cost', '0.5'];
      const { stderr } = await stage.ralph('run', ...args).ended;
      await follow(stage, stderr, 'ralph resume it --max-cost', { code: 1 });
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'the token limit was reached',
    from: [],
    async follow(stage) {
      reporting(stage);
      const args = ['--name', 'it', '-p', 'x', '--agent', 'claude', '--max-tokens', '100'];
      const { stderr } = await stage.ralph('run', ...args).ended;
      await follow(stage, stderr, 'ralph resume it --max-tokens', { code: 1 });
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'the loop was stopped',
    from: [
      'projections/end-record.ts: ralph resume …',
      'loops/find.ts: ralph resume …',
      'text/sent.ts: ralph resume …',
    ],
    async follow(stage) {
      stage.plans(1, waitFor());
      stage.plans('default', DONE);
      const loop = stage.starts('-p', 'x', '-m', '3');
      await stage.waitForCall(1);
      expect((await stage.ralph('stop', 'it').ended).code).toBe(0);
      stage.release();
      const { stderr } = await loop.ended;
      const told = said(await stage.ralph('tell', 'it', 'hello').ended);
      const set = said(await stage.ralph('set', 'it', 'max-iterations=5').ended);
      for (const text of [told, set])
        expect(advised(text, 'ralph resume it')).toBe(advised(stderr, 'ralph resume it'));
      await follow(stage, stderr, 'ralph resume it');
      expect(stage.given(2, 'stdin')).toContain('hello');
    },
  },
  {
    situation: 'the loop is paused',
    from: ['text/story.ts: ralph resume …'],
    async follow(stage) {
      stage.plans(1, waitFor());
      stage.plans('default', DONE);
      const loop = stage.starts('-p', 'x', '-m', '3');
      await stage.waitForCall(1);
      expect((await stage.ralph('pause', 'it').ended).code).toBe(0);
      stage.release();
      await loop.ended;
      await follow(stage, said(await stage.ralph('story', 'it').ended), 'ralph resume it');
    },
  },
  {
    situation: 'the loop is already done',
    from: [
      'loops/find.ts: ralph run --name … …',
      'loops/resume.ts: ralph run --name … …',
      'loops/send.ts: ralph run',
      'cli/attach.ts: ralph logs …',
      'cli/attach.ts: ralph story …',
    ],
    async follow(stage) {
      stage.plans('default', DONE);
      await stage.run(...once);
      const again = { write: { '…': '-p x -m 1' }, more: `-- ${stage.agent}` };
      await follow(
        stage,
        said(await stage.ralph('set', 'it', 'max-iterations=3').ended),
        'ralph run --name it',
        again,
      );
      await follow(stage, said(await stage.ralph('resume', 'it').ended), 'ralph run --name it', again);
      const told = await stage.ralph('tell', 'it', 'hello').ended;
      await follow(stage, said(told), 'ralph run', { more: `-p x -m 1 -- ${stage.agent}` });
      const attached = await stage.ralph('attach', 'it').ended;
      expect((await follow(stage, said(attached), 'ralph logs it')).stdout).toContain('DONE');
      await follow(stage, said(attached), 'ralph story it');
    },
  },
  {
    situation: 'the owner of the loop was killed and its agent works on',
    from: [
      'owner/claim-name.ts: ralph resume …',
      'owner/refuse-request.ts: ralph resume …',
      'owner/refuse-request.ts: ralph stop … --now',
      'text/sent.ts: ralph stop … --now',
      'loops/send.ts: ralph stop … --now',
      'text/sent.ts: ralph resume … #2',
      'owner/idle-loop.ts: ralph stop … --now',
    ],
    async follow(stage) {
      await crashed(stage);
      const named = await stage.run(...once);
      expect(advised(said(named), 'ralph resume it')).toBe('ralph resume it');
      const other = await stage.ralph('run', ...once, '--', stage.agent).ended;
      expect(advised(said(other), 'ralph resume it')).toBe('ralph resume it');
      const paused = await stage.ralph('pause', 'it').ended;
      expect(advised(said(paused), 'ralph resume it')).toBe('ralph resume it');
      const stop = advised(said(paused), 'ralph stop it --now');
      const rewound = await stage.ralph('rewind', 'it', 'start').ended;
      expect(advised(said(rewound), 'ralph stop it --now')).toBe(stop);
      await follow(stage, said(other), 'ralph stop it --now');
      await stage.until('no agent', () => stage.running.length === 0);
      await follow(stage, said(named), 'ralph resume it');
    },
  },
  {
    situation: 'a loop with the same prompt did not finish',
    from: ['owner/refuse-request.ts: ralph resume … #2'],
    async follow(stage) {
      await crashed(stage);
      stage.release();
      await stage.until('no agent', () => stage.running.length === 0);
      const other = await stage.ralph('run', '--name', 'other', ...once, '--', stage.agent).ended;
      await follow(stage, said(other), 'ralph resume it', { code: 1 });
    },
  },
  {
    situation: 'the loop is running',
    from: [
      'owner/refusals.ts: ralph status …',
      'owner/refusals.ts: ralph stop …',
      'owner/idle-loop.ts: ralph pause …',
      'owner/idle-loop.ts: ralph stop … --now #2',
      'loops/remove.ts: ralph stop … --now',
      'loops/resume.ts: ralph set … …',
      'cli/attach.ts: ralph attach',
      'cli/attach.ts: ralph logs … -f',
    ],
    async follow(stage) {
      await whileRunning(stage, async () => {
        const again = await stage.run(...once);
        await follow(stage, said(again), 'ralph status it');
        const raised = await stage.ralph('resume', 'it', '-m', '9').ended;
        await follow(stage, said(raised), 'ralph set it', { write: { '…': 'max-iterations=9' } });
        const attached = await stage.ralph('attach', 'it').ended;
        const logs = pasted(stage, advised(said(attached), 'ralph logs it'));
        const rewound = await stage.ralph('rewind', 'it', 'start').ended;
        const paused = await follow(stage, said(rewound), 'ralph pause it');
        expect(said(paused)).toContain('paus');
        await follow(stage, said(again), 'ralph stop it');
        const removed = await stage.ralph('rm', 'it').ended;
        expect(advised(said(rewound), 'ralph stop it --now')).toBe(
          advised(said(removed), 'ralph stop it --now'),
        );
        await follow(stage, said(removed), 'ralph stop it --now');
        expect((await logs.ended).code).toBe(0);
      });
    },
  },
  {
    situation: 'the loop was left in the background',
    from: [
      'cli/background.ts: ralph attach …',
      'cli/background.ts: ralph status …',
      'cli/background.ts: ralph stop …',
    ],
    async follow(stage) {
      stage.plans('default', waitFor());
      const started = await stage.ralph('run', '-d', '--name', 'it', ...once, '--', stage.agent).ended;
      await stage.waitForCall(1);
      await follow(stage, said(started), 'ralph status it');
      const attached = await follow(stage, said(started), 'ralph attach it', { code: 2 });
      expect(said(attached)).toContain('needs a terminal');
      await follow(stage, said(started), 'ralph stop it');
      stage.release();
      expect((await stage.ralph('wait', 'it').ended).code).not.toBe(2);
    },
  },
  {
    situation: 'the agent has asked a question',
    from: [
      'text/lines.ts: ralph answer … "…"',
      'text/status.ts: ralph answer … "…" --question …',
      'loops/send.ts: ralph answer NAME "words for the agent"',
      'loops/send.ts: ralph tell NAME "words for the next prompt"',
      'loops/send.ts: ralph tell … "…"',
    ],
    async follow(stage) {
      stage.plans(1, '$RALPH bus post --type QUESTION "Tabs or spaces?"');
      stage.plans(2, `${waitFor()}; ${DONE}`);
      stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
      const loop = stage.starts('-p', 'x', '-m', '3');
      await loop.until('ralph answer it "…"');
      const status = await stage.ralph('status', 'it').ended;
      expect(advised(said(status), 'ralph answer it "…" --question')).toMatch(/--question \S+$/);
      const empty = await stage.ralph('answer', 'it', ' ').ended;
      const words = { write: { NAME: 'it', '…': 'tabs' } };
      expect(advised(said(empty), 'ralph answer NAME')).toContain('"words for the agent"');
      await follow(stage, said(status), 'ralph answer it "…" --question', words);
      await stage.waitForCall(2);
      const none = await stage.ralph('answer', 'it', 'spaces').ended;
      await follow(stage, said(none), 'ralph tell it "…"', words);
      await follow(stage, said(await stage.ralph('tell', 'it', ' ').ended), 'ralph tell NAME', words);
      stage.release();
      expect((await loop.ended).code).toBe(0);
      expect(stage.given(2, 'stdin')).toContain('tabs');
    },
  },
  {
    situation: 'the loop comes near its limit',
    from: ['text/lines.ts: ralph set … …=…'],
    async follow(stage) {
      stage.installs('claude');
      const message = { id: 'm1', usage: { input_tokens: 450, output_tokens: 400 }, content: [] };
      const words = JSON.stringify({ type: 'assistant', message });
      stage.plans('default', `echo '${words}'; ${waitFor()}`);
      const loop = stage.ralph(
        'run',
        'x',
        '--name',
        'it',
        '--agent',
        'claude',
        '-m',
        '1',
        '--max-tokens',
        '1000',
      );
      await loop.until('raise it with: ralph set it');
      await follow(stage, loop.stderr, 'ralph set it', { write: { '…': '9000' } });
      stage.release();
      await loop.ended;
      expect(said(await stage.ralph('status', 'it').ended)).toContain('850 of 9000 tokens');
    },
  },
  {
    situation: 'every check passes and nothing changes',
    from: ['text/lines.ts: ralph set … max-unchanged=…'],
    async follow(stage) {
      stage.plans(6, waitFor());
      const loop = stage.ralph('loop', 'x', '--name', 'it', '--check', 'true', '-m', '9', '--', stage.agent);
      await loop.until('would end the loop: ralph set it');
      await follow(stage, loop.stderr, 'ralph set it');
      stage.release();
      expect((await loop.ended).code).toBe(1);
      expect(stage.calls).toBe(6);
    },
  },
  {
    situation: 'the journal is damaged',
    from: ['home/journal-problem.ts: ralph rm …'],
    async follow(stage) {
      await stage.run(...once);
      const path = stage.file('journal.jsonl');
      const lines = readFileSync(path, 'utf8').split('\n');
      writeFileSync(path, [...lines.slice(0, 2), 'damage', ...lines.slice(3)].join('\n'));
      const status = await stage.ralph('resume', 'it').ended;
      await follow(stage, said(status), 'ralph rm it');
      expect(stage.loops).toEqual([]);
    },
  },
  {
    situation: 'only the remains of the loop are there, or its spec cannot be read',
    from: ['home/read-loop.ts: ralph rm …', 'home/read-loop.ts: ralph rm … #2'],
    async follow(stage) {
      await stage.run(...once);
      writeFileSync(stage.file('spec.json'), 'no JSON');
      const row: unknown = JSON.parse((await stage.ralph('status', 'it', '--json').ended).stdout);
      expect(row).toMatchObject({ next: 'ralph rm it' });
      rmSync(stage.file('journal.jsonl'));
      await follow(stage, said(await stage.ralph('resume', 'it').ended), 'ralph rm it');
    },
  },
  {
    situation: 'there is no loop of this name here',
    from: [
      'home/read-loop.ts: ralph ls --all',
      'cli/ls.ts: ralph ls --all',
      'cli/ls.ts: ralph run',
      'cli/chosen-loop.ts: ralph demo',
      'cli/chosen-loop.ts: ralph run',
      'loops/move.ts: ralph ls --all',
    ],
    async follow(stage) {
      const agent = { more: `-p x -m 1 -- ${stage.agent}`, code: 1 };
      const none = said(await stage.ralph('ls', '--all').ended);
      await follow(stage, said(await stage.ralph('ls').ended), 'ralph ls --all');
      const unknown = said(await stage.ralph('status', 'it').ended);
      await follow(stage, unknown, 'ralph ls --all', { inSentence: true });
      await follow(stage, said(await stage.ralph('move', '/gone').ended), 'ralph ls --all');
      const status = said(await stage.ralph('status').ended);
      await follow(stage, status, 'ralph run', agent);
      await follow(stage, status, 'ralph demo');
      await follow(stage, none, 'ralph run', agent);
    },
  },
  {
    situation: 'a variable of the loop is not kept after its end',
    from: ['owner/loop-environment.ts: ralph resume … …'],
    async follow(stage) {
      await stage.run(...once, '--env', 'COLOUR=red');
      const resumed = await stage.ralph('resume', 'it', '-m', '2').ended;
      await follow(stage, said(resumed), 'ralph resume it', { write: { '…': 'red' }, more: '-m 2', code: 1 });
      expect(stage.given(2, 'env')).toContain('COLOUR=red\n');
    },
  },
  {
    situation: 'a secret in the command of the agent is not kept after the end',
    from: ['owner/loop-environment.ts: ralph run --name …'],
    async follow(stage) {
      stage.env['DEPLOY_TOKEN'] = 'my-very-secret-value';
      await stage.ralph('run', '--name', 'it', ...once, '--', stage.agent, 'my-very-secret-value', 'end')
        .ended;
      const resumed = await stage.ralph('resume', 'it', '-m', '2').ended;
      await follow(stage, said(resumed), 'ralph run --name it', {
        more: `-p x -m 1 -- ${stage.agent}`,
        code: 1,
      });
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'the process that was creating the loop died',
    from: ['home/read-loop.ts: ralph resume …'],
    async follow(stage) {
      // `unstarted-loops.test.ts` kills it; what it leaves is the same.
      await stage.run(...once);
      const spec: unknown = JSON.parse(readFileSync(stage.file('spec.json'), 'utf8'));
      const policy = stage.journal.find(({ type }) => type === 'loop.created')?.['policy'];
      writeFileSync(stage.file('asked.json'), JSON.stringify({ spec, policy, paidBy: null }));
      for (const file of ['journal.jsonl', 'runs']) rmSync(stage.file(file), { recursive: true });
      await follow(stage, said(await stage.ralph('status', 'it').ended), 'ralph resume it', { code: 1 });
      expect(stage.calls).toBe(2);
    },
  },
];
