import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { advised, DONE, follow, pasted, said, type Advice } from './follow.ts';
import { waitFor, type Stage } from './stage.ts';

const once = ['-p', 'x', '-m', '1'];
const status = async (stage: Stage, ...args: readonly string[]): Promise<string> =>
  said(await stage.ralph(...args).ended);

/** The loop `it` has worked in its own worktree, and is done. */
async function inWorktree(stage: Stage, script = `echo 1 >work; ${DONE}`): Promise<string> {
  stage.identifies();
  stage.plans('default', script);
  return said(await stage.run(...once, '--worktree'));
}

const path = (stage: Stage): string => join(stage.workspace, '..', 'workspace-worktrees', 'it');

export const PLACES: readonly Advice[] = [
  {
    situation: 'the settings of a repository are not trusted',
    from: [
      'cli/consent.ts: ralph trust',
      'cli/consent.ts: ralph trust --show',
      'settings/trust-of.ts: ralph trust --cwd …',
      'text/trust.ts: ralph run',
      'text/trust.ts: ralph trust --show',
      'settings/trust-of.ts: ralph trust',
      'settings/trust-of.ts: ralph trust #3',
      'cli/doctor.ts: ralph trust --show',
      'cli/doctor.ts: ralph trust',
      'cli/trust.ts: ralph trust --revoke',
    ],
    trust: false,
    async follow(stage) {
      stage.settings({ maxIterations: 1 });
      const run = await status(stage, 'run', 'x', '--', stage.agent);
      expect((await follow(stage, run, 'ralph trust --show')).stdout).toContain('maxIterations');
      await follow(stage, await status(stage, 'doctor'), 'ralph trust --show');
      expect(await status(stage, 'config')).toContain('ralph run asks first (see: ralph trust --show)');
      const [, trust = ''] = run.split('then trust with: ');
      const trusted = await follow(stage, trust, 'ralph trust');
      expect((await stage.run('-p', 'x')).code).toBe(1);
      await follow(stage, said(trusted), 'ralph trust --revoke');
      mkdirSync(stage.path('a folder'));
      renameSync(stage.path('.ralph'), stage.path('a folder/.ralph'));
      const other = await status(stage, 'run', 'x', '--cwd', 'a folder', '--', stage.agent);
      await follow(stage, other.split('then trust with: ')[1] ?? '', 'ralph trust --cwd');
      expect((await stage.ralph('run', 'x', '--cwd', 'a folder', '--', stage.agent).ended).code).toBe(1);
    },
  },
  {
    situation: 'settings are made',
    from: [
      'cli/init.ts: ralph init --yes',
      'cli/init.ts: ralph init --yes --force',
      'cli/init.ts: ralph agents',
      'cli/init.ts: ralph run "your task"',
      'cli/init.ts: ralph config',
      'owner/choose-agent.ts: ralph agents',
      'owner/choose-agent.ts: ralph init',
    ],
    async follow(stage) {
      const none = await status(stage, 'run', 'x');
      await follow(stage, none, 'ralph agents');
      const made = await follow(stage, await status(stage, 'init'), 'ralph init --yes');
      await follow(stage, said(made), 'ralph agents', { inSentence: true });
      await follow(stage, said(made), 'ralph config');
      await follow(stage, await status(stage, 'init', '--yes'), 'ralph init --yes --force');
      await follow(stage, said(made), 'ralph run "your task"', { more: `-m 1 -- ${stage.agent}`, code: 1 });
      expect(advised(none, 'ralph init')).toBe('ralph init writes');
    },
  },
  {
    situation: 'a command line cannot be understood',
    from: [
      'text/advice.ts: ralph run -p …',
      'text/advice.ts: ralph … "fix the tests"',
      'text/advice.ts: ralph … "fix the tests" #2',
      'cli/help.ts: ralph run "fix the failing tests" --check "npm test" --agent',
      'cli/help.ts: ralph help',
      'cli/help.ts: ralph help --all',
      'cli/help.ts: ralph help … --all',
      'cli/pages.ts: ralph help --all',
      'text/advice.ts: ralph help',
      'cli/bus.ts: ralph bus post "text"',
      'cli/loop.ts: ralph loop "fix the tests" --check "npm test"',
      'cli/spawn.ts: ralph spawn --name NAME TASK --max-iterations',
      'cli/agents.ts: ralph run "…"',
      'owner/choose-agent.ts: ralph run "fix the tests" --agent …',
      'owner/money.ts: ralph agents',
      'loops/bus.ts: ralph bus read NAME',
      'loops/bus.ts: ralph bus post --loop NAME "text"',
    ],
    async follow(stage) {
      stage.plans('default', DONE);
      const agent = ['--', stage.agent];
      const replaced = { write: { './my-agent': stage.agent } };
      await follow(stage, await status(stage, 'run', '-x is wrong', ...agent), 'ralph run -p', {
        more: `-- ${stage.agent}`,
      });
      const words = await status(stage, 'run', 'fix', 'the', 'tests', ...agent);
      await follow(stage, words, 'ralph run "fix the tests"', { more: `-- ${stage.agent}` });
      await follow(
        stage,
        await status(stage, 'run', 'fix', 'the', 'tests'),
        'ralph run "fix the tests" --',
        replaced,
      );
      const scripted = await status(stage, 'run', 'x', '--agent', 'custom');
      await follow(stage, scripted, 'ralph run "fix the tests" --agent', replaced);
      await follow(stage, await status(stage, 'agents'), 'ralph run "…"', {
        write: { COMMAND: stage.agent },
      });
      const first = await status(stage);
      expect(advised(first, 'ralph run "fix the failing tests"')).toMatch(/--agent claude$/);
      await follow(stage, first, 'ralph help run');
      await follow(stage, first, 'ralph help --all');
      await follow(stage, await status(stage, 'help', 'zzzzzz'), 'ralph help --all');
      await follow(stage, await status(stage, 'zzzzzz'), 'ralph help --all');
      await follow(stage, await status(stage, 'run', '--zzzzzz'), 'ralph help run --all');
      await follow(stage, await status(stage, 'run', '--help'), 'ralph help run --all');
      const loop = await status(stage, 'loop', ' ', '--check', 'true', ...agent);
      await follow(stage, loop, 'ralph loop "fix the tests"', {
        write: { 'npm test': 'true' },
        more: `--completion-tag DONE -- ${stage.agent}`,
      });
      const spawn = await status(stage, 'spawn', 'x', '--name', 'a', ...agent);
      const spawned = { write: { NAME: 'a', TASK: 'x', COMMAND: stage.agent, ' N ': ' 1 ' } };
      await follow(stage, spawn, 'ralph spawn --name NAME TASK', spawned);
      await stage.ralph('wait', 'a').ended;
      await follow(stage, await status(stage, 'run', 'x', '--max-cost', '1', ...agent), 'ralph agents');
      const bus = await status(stage, 'bus', 'read');
      const named = { write: { NAME: 'a' } };
      await follow(stage, bus, 'ralph bus read NAME', named);
      await follow(stage, bus, 'ralph bus post --loop NAME "text"', named);
      await follow(stage, await status(stage, 'bus', 'post', '--loop', 'a', ' '), 'ralph bus post "text"', {
        more: '--loop a',
      });
    },
  },
  {
    situation: 'words without the name of a loop can be for several',
    from: ['cli/chosen-loop.ts: ralph … NAME …', 'cli/chosen-loop.ts: ralph … … …'],
    async follow(stage) {
      stage.plans('default', waitFor());
      for (const name of ['it', 'other'])
        // oxlint-disable-next-line no-await-in-loop -- one stage
        await stage.ralph('run', 'work', '-d', '--name', name, '-m', '1', '--', stage.agent).ended;
      const which = await stage.ralph('tell', 'use the other API').ended;
      await follow(stage, said(which), 'ralph tell NAME', { write: { NAME: 'it' } });
      const none = await stage.ralph('tell', 'it').ended;
      await follow(stage, said(none), 'ralph tell it');
      for (const name of ['it', 'other'])
        // oxlint-disable-next-line no-await-in-loop -- one stage
        await stage.ralph('stop', name, '--now').ended;
      stage.release();
    },
  },
  {
    situation: 'a loop has worked in its worktree',
    from: [
      'text/summary.ts: ralph worktree merge …',
      'cli/worktree.ts: ralph worktree rm …',
      'cli/worktree.ts: ralph run --worktree',
    ],
    async follow(stage) {
      stage.identifies();
      const none = await status(stage, 'worktree', 'ls');
      await follow(stage, none, 'ralph run --worktree', {
        more: `--name other -p x -m 1 -- ${stage.agent}`,
        code: 1,
      });
      const merged = await follow(stage, await inWorktree(stage), 'ralph worktree merge it');
      expect(stage.read('work')).toBe('1\n');
      await follow(stage, said(merged), 'ralph worktree rm it');
    },
  },
  {
    situation: 'a worktree has work that is saved nowhere else',
    from: [
      'loops/remove.ts: ralph worktree rm …',
      'loops/remove-worktree.ts: ralph worktree merge …',
      'loops/remove-worktree.ts: ralph worktree rm … --force #2',
      'workspace/occupied-place.ts: ralph worktree merge …',
      'workspace/occupied-place.ts: ralph worktree rm … --force',
      'workspace/worktree-place.ts: ralph worktree merge …',
      'workspace/worktree-place.ts: ralph worktree rm …',
    ],
    async follow(stage) {
      await inWorktree(stage);
      const removed = await status(stage, 'rm', 'it');
      const refused = await follow(stage, removed, 'ralph worktree rm it', { code: 2 });
      const again = await status(stage, 'run', '--name', 'it', ...once, '--worktree', '--', stage.agent);
      const stranded = await status(stage, 'run', '--name', 'it', ...once, '--', stage.agent);
      const merge = advised(again, 'ralph worktree merge it');
      expect([said(refused), stranded].map((text) => advised(text, 'ralph worktree merge it'))).toEqual([
        merge,
        merge,
      ]);
      await follow(stage, again, 'ralph worktree merge it');
      await follow(stage, stranded, 'ralph worktree rm it');
      await inWorktree(stage, `echo 2 >more; ${DONE}`);
      expect(advised(again, 'ralph worktree rm it --force')).toBe(
        advised(said(refused), 'ralph worktree rm it --force'),
      );
      await follow(stage, said(refused), 'ralph worktree rm it --force');
      expect((await stage.ralph('rm', 'it').ended).code).toBe(0);
    },
  },
  {
    situation: 'a loop with unsaved work is killed together with its worktree',
    from: ['cli/kill.ts: ralph worktree merge …', 'cli/kill.ts: ralph kill … --rm-worktree --force-dirty'],
    async follow(stage) {
      await inWorktree(stage);
      const killed = await status(stage, 'kill', 'it', '--rm-worktree');
      await follow(stage, killed, 'ralph worktree merge it');
      writeFileSync(join(path(stage), 'dirty'), '');
      await follow(stage, killed, 'ralph kill it --rm-worktree --force-dirty');
    },
  },
  {
    situation: 'a merge has conflicts, or fails the checks',
    from: [
      'loops/merge.ts: ralph worktree merge …',
      'loops/merge.ts: ralph resume …',
      'loops/merge.ts: ralph worktree merge … --no-checks',
    ],
    async follow(stage) {
      stage.identifies();
      stage.plans('default', `echo theirs >README.md; echo 1 >work; ${DONE}`);
      await stage.run(...once, '--worktree', '--check', 'test ! -e mine');
      stage.write('README.md', 'mine\n');
      stage.write('mine', '');
      stage.git('add', '.');
      stage.git('commit', '--quiet', '--message', 'mine');
      const conflict = await status(stage, 'worktree', 'merge', 'it');
      const tree = path(stage);
      await stage.shell(
        `cd '${tree}' && git add . && git commit -qm work; git merge master; git checkout --theirs . ; git add . && git commit -qm merged`,
      ).ended;
      const failed = await follow(stage, conflict, 'ralph worktree merge it', { code: 1 });
      expect(advised(said(failed), 'ralph resume it')).toBe('ralph resume it');
      await follow(stage, said(failed), 'ralph worktree merge it --no-checks');
      await follow(stage, said(failed), 'git merge');
      expect(stage.read('work')).toBe('1\n');
    },
  },
  {
    situation: 'another loop uses the place of the worktree',
    from: [
      'workspace/occupied-place.ts: ralph resume …',
      'workspace/occupied-place.ts: ralph stop …',
      'workspace/occupied-place.ts: ralph stop … #2',
      'workspace/occupied-place.ts: ralph worktree rm …',
    ],
    async follow(stage) {
      stage.identifies();
      stage.plans(1, waitFor());
      stage.plans('default', `${waitFor('on')}; ${DONE}`);
      const architect = [
        '--preset',
        'architect',
        '--completion-tag',
        'DONE',
        '--check',
        'true',
        '--worktree',
        '-p',
        'x',
        '-m',
        '9',
      ];
      const command = (name: string) => ['run', '--name', name, ...architect, '--', stage.agent];
      const run = (name: string) => stage.ralph(...command(name));
      const holder = stage.process(...command('holder'));
      await stage.waitForCall(1);
      const running = said(await run('it').ended);
      holder.signal('SIGKILL');
      await holder.ended;
      const orphaned = said(await run('it').ended);
      expect(advised(orphaned, 'ralph stop holder')).toBe(advised(running, 'ralph stop holder'));
      stage.release();
      await stage.until('no agent', () => stage.running.length === 0);
      const unfinished = said(await run('it').ended);
      const resumed = pasted(stage, advised(unfinished, 'ralph resume holder'));
      await stage.waitForCall(2);
      await follow(stage, running, 'ralph stop holder');
      stage.release('on');
      await resumed.ended;
      await follow(stage, unfinished, 'ralph worktree rm holder');
    },
  },
  {
    situation: 'the worktree is the workspace of a running loop',
    from: ['workspace/occupied-place.ts: ralph stop … --cwd …'],
    async follow(stage) {
      await inWorktree(stage);
      stage.plans('default', waitFor());
      const other = stage.ralph('run', '--name', 'in', '--cwd', path(stage), ...once, '--', stage.agent);
      await stage.waitForCall(2);
      await follow(stage, await status(stage, 'worktree', 'rm', 'it', '--force'), 'ralph stop in --cwd');
      stage.release();
      await other.ended;
      expect((await stage.ralph('worktree', 'rm', 'it', '--force').ended).code).toBe(0);
    },
  },
  {
    situation: 'the worktree of a loop is gone',
    from: [
      'workspace/worktree.ts: ralph resume …',
      'workspace/worktree.ts: git worktree #2',
      'workspace/worktree.ts: git worktree #3',
    ],
    async follow(stage) {
      await inWorktree(stage, 'true');
      rmSync(path(stage), { recursive: true });
      const resumed = await status(stage, 'resume', 'it', '-m', '2');
      await follow(stage, resumed, 'git worktree prune && git worktree add');
      await follow(stage, resumed, 'ralph resume it', { more: '-m 2', code: 1 });
      expect(stage.calls).toBe(2);
    },
  },
  {
    situation: 'files are rewound',
    from: ['cli/rewind.ts: ralph rewind … …'],
    async follow(stage) {
      stage.plans('default', 'echo "$RALPH_ITERATION" >made');
      await stage.run('-p', 'x', '-m', '2');
      const rewound = await status(stage, 'rewind', 'it', '1');
      expect(stage.read('made')).toBe('1\n');
      await follow(stage, rewound, 'ralph rewind it');
      expect(stage.read('made')).toBe('2\n');
    },
  },
  {
    situation: 'a workspace was moved or removed',
    from: [
      'text/list.ts: ralph move OLD_FOLDER',
      'text/list.ts: ralph move …',
      'text/list.ts: ralph rm --gone',
      'home/strangers.ts: ralph move …',
    ],
    async follow(stage) {
      const [old, moved] = [stage.path('old place'), stage.path('new place')];
      mkdirSync(old);
      await stage.ralph('run', '--name', 'it', '--cwd', old, ...once, '--', stage.agent).ended;
      renameSync(old, moved);
      const listed = await status(stage, 'ls', '--all');
      await follow(stage, listed, 'ralph move', {
        write: { OLD_FOLDER: `'${old}'` },
        more: `--cwd '${moved}'`,
      });
      renameSync(moved, old);
      const stranger = await status(stage, 'status', 'it', '--cwd', old);
      await follow(stage, stranger, 'ralph move', { more: `--cwd '${old}'` });
      rmSync(old, { recursive: true });
      await follow(stage, await status(stage, 'ls', '--all'), 'ralph rm --gone');
      expect(await status(stage, 'ls', '--all')).toContain('no loops');
    },
  },
  {
    situation: 'the output of an agent cannot be parsed',
    from: ['text/run-lines.ts: ralph logs … --run … --raw'],
    async follow(stage) {
      stage.installs('claude');
      stage.plans('default', `echo '{"type":"no such event"}'; echo '{ no JSON'; exit 0`);
      const { stderr } = await stage.ralph('run', '--name', 'it', ...once, '--agent', 'claude').ended;
      expect((await follow(stage, stderr, 'ralph logs it --run')).stdout).toContain('{ no JSON');
    },
  },
  {
    situation: 'too many children run',
    from: ['home/child-limits.ts: ralph wait NAME'],
    async follow(stage) {
      stage.env['RALPH'] = `${process.execPath} ${stage.main}`;
      stage.plans(2, `${waitFor()}; ${DONE}`);
      stage.plans('default', DONE);
      const child = (name: string): string => `$RALPH run -d --name ${name} -p x -m 1 -- ${stage.agent}`;
      stage.plans(
        1,
        `${child('a')} >"$FAKE_PLAN/first" 2>&1; ${child('b')} >"$FAKE_PLAN/second" 2>&1; ralph() { $RALPH "$@"; }; echo "$(sed -n 's/.*wait for one with: \\(ralph wait\\) NAME.*/\\1 a/p' "$FAKE_PLAN/second")" >"$FAKE_PLAN/advice"; : >"$FAKE_PLAN/go"; . "$FAKE_PLAN/advice"; echo "code $?" >"$FAKE_PLAN/third"; ${DONE}`,
      );
      stage.settings({ children: { maxActive: 1 } });
      await stage.run(...once);
      expect(readFileSync(join(stage.plan, 'advice'), 'utf8')).toBe('ralph wait a\n');
      expect(readFileSync(join(stage.plan, 'third'), 'utf8')).toBe('code 0\n');
    },
  },
];
