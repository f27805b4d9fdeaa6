import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLibraryFolder } from '../../test/rig/library-folder.ts';
import { ArchitectLoop, type ArchitectEvent, type FactoryOptions } from './architect-loop.ts';

const pass = { task: 'make it work', checks: ['true'] };
const answers = (text: string) => () => ({ run: async () => text });

it('S3.40 has the defaults of the document', () => {
  expect(new ArchitectLoop(pass, answers(''), '/').config).toEqual({
    ...pass,
    specFile: null,
    completionTag: 'COMPLETE',
    maxIterations: 25,
    maxCost: null,
    maxTime: null,
    agent: 'build',
    model: null,
    useWorktree: false,
  });
});

it('S3.18 S3.41 S3.42 S3.43 S3.59 calls the factory once per iteration and returns every iteration', async () => {
  const workspace = openLibraryFolder();
  const made: Omit<FactoryOptions, 'context'>[] = [];
  const prompts: string[] = [];
  const config = { task: 'make x', checks: ['test -f x', 'true'], model: 'm1', maxIterations: 5 };
  const loop = new ArchitectLoop(
    config,
    ({ context, ...options }) => {
      made.push(options);
      return {
        run: async (prompt) => {
          prompts.push(prompt);
          if (context.iteration === 2) writeFileSync(join(workspace, 'x'), '');
          return context.iteration === 1 ? 'COMPLETE' : { text: 'COMPLETE', costUsd: 0.5, steps: 3 };
        },
      };
    },
    workspace,
  );
  const result = await loop.run();
  const each = { agent: 'build', model: 'm1', workspaceRoot: workspace };
  expect(made).toEqual([each, each]);
  expect(result).toMatchObject({
    totalIterations: 2,
    totalCost: 0.5,
    success: true,
    stopReason: 'all_checks_passed',
    worktreePath: null,
    iterations: [
      { iteration: 1, stepsTaken: 0, cost: 0, allChecksPassed: false, completionTagFound: true, error: null },
      {
        iteration: 2,
        stepsTaken: 3,
        cost: 0.5,
        allChecksPassed: true,
        completionTagFound: true,
        error: null,
      },
    ],
  });
  expect(prompts[0]).toContain('## Task\n\nmake x');
  expect(prompts[1]).toContain('## Errors from Previous Iteration');
  expect(await loop.cleanupWorktree()).toBe(false);
  const progress = join(
    workspace,
    '.ralph',
    'loops',
    readdirSync(join(workspace, '.ralph', 'loops'))[0] ?? '',
    'progress.md',
  );
  expect(existsSync(progress)).toBe(true);
  await loop.cleanupProgress();
  expect(existsSync(progress)).toBe(false);
});

it('S3.47 emits its four events in order, also if the listener throws', async () => {
  const events: ArchitectEvent[] = [];
  const config = { task: 'never', checks: ['true', 'false'], maxIterations: 2 };
  const onEvent = (event: ArchitectEvent) => {
    events.push(event);
    throw new Error('ignored');
  };
  const agent = () => ({ run: async () => ({ text: 'COMPLETE', costUsd: 0.01 }) });
  await new ArchitectLoop(config, agent, openLibraryFolder(), { onEvent }).run();
  const inOne = (iteration: number) => [
    { type: 'ralph.iteration_start', iteration, maxIterations: 2, checkCmd: 'true, false' },
    { type: 'ralph.checks_result', iteration, passed: 1, total: 2, allPassed: false },
    {
      type: 'ralph.iteration_done',
      iteration,
      status: 'failed',
      cost: 0.01,
      costIsKnown: true,
    },
  ];
  const complete = { type: 'ralph.complete', totalIterations: 2, status: 'max_iterations', totalCost: 0.02 };
  expect(events).toMatchObject([...inOne(1), ...inOne(2), complete]);
});

it('says that a cost is unknown, and ends a loop with maxCost after two runs of unknown cost', async () => {
  const events: ArchitectEvent[] = [];
  const config = { task: 'x', checks: ['false'], maxIterations: 5, maxCost: 1 };
  const onEvent = (event: ArchitectEvent): void => void events.push(event);
  const agent = () => ({ run: async () => 'COMPLETE' });
  const result = await new ArchitectLoop(config, agent, openLibraryFolder(), { onEvent }).run();
  expect(result).toMatchObject({
    totalCost: 0,
    costIsKnown: false,
    stopReason: 'budget_exhausted',
    totalIterations: 2,
    outcome: { type: 'cost-exhausted', spentUsd: null, assumedRuns: 2 },
  });
  expect(events.at(-1)).toMatchObject({ type: 'ralph.complete', totalCost: 0, costIsKnown: false });
});

it('S3.54 records errors of factory and agent, runs no checks after them, and continues', async () => {
  let calls = 0;
  const result = await new ArchitectLoop(
    pass,
    () => {
      calls++;
      if (calls === 1) throw new Error('no factory');
      return {
        run: async () => {
          if (calls === 2) throw new Error('no agent');
          return 'COMPLETE';
        },
      };
    },
    openLibraryFolder(),
  ).run();
  const failed = { stepsTaken: 0, cost: 0, checkResults: [], allChecksPassed: false };
  expect(result).toMatchObject({
    success: true,
    iterations: [{ ...failed, error: 'no factory' }, { ...failed, error: 'no agent' }, { error: null }],
  });
});

it('S3.51 reads the specification in every iteration and falls back to the task', async () => {
  const workspace = openLibraryFolder();
  const spec = join(workspace, 'spec.md');
  writeFileSync(spec, 'first words');
  const prompts: string[] = [];
  const agent = () => ({
    run: async (prompt: string) => {
      prompts.push(prompt);
      if (prompts.length === 1) writeFileSync(spec, 'second words');
      else rmSync(spec, { force: true });
      return '';
    },
  });
  await new ArchitectLoop({ ...pass, specFile: 'spec.md', maxIterations: 3 }, agent, workspace).run();
  expect(prompts.map((prompt) => /first words|second words|make it work/.exec(prompt)?.[0])).toEqual([
    'first words',
    'second words',
    'make it work',
  ]);
});

it('S3.18 S3.40 S3.55 enforces its limits; 0 means unlimited', async () => {
  const agent = () => ({ run: async () => ({ text: '', costUsd: 0.05 }) });
  const run = (limits: object) => new ArchitectLoop({ ...pass, ...limits }, agent, openLibraryFolder()).run();
  expect(await run({ maxCost: 0.1 })).toMatchObject({
    totalIterations: 2,
    totalCost: 0.1,
    stopReason: 'budget_exhausted',
  });
  expect(await run({ maxCost: 0, maxTime: 0, maxIterations: 3 })).toMatchObject({
    totalIterations: 3,
    stopReason: 'max_iterations',
  });
});

it('S3.25 keeps the last 2000 characters of a check, stdout before stderr', async () => {
  const check = 'yes err | tr -d "\\n" | head -c 1500 >&2; yes out | tr -d "\\n" | head -c 1500; exit 1';
  const config = { ...pass, checks: [check], maxIterations: 1 };
  const { iterations } = await new ArchitectLoop(config, answers('COMPLETE'), openLibraryFolder()).run();
  expect(iterations[0]?.checkResults[0]?.output).toBe('out'.repeat(500).slice(-500) + 'err'.repeat(500));
});

it('S3.49 puts the diff so far into the prompt, in a repository', async () => {
  const workspace = openLibraryFolder();
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...words], { cwd: workspace });
  git('init', '--quiet');
  writeFileSync(join(workspace, 'a'), 'one\n');
  git('add', '.');
  git('commit', '--quiet', '--message', 'begin');
  const prompts: string[] = [];
  const agent = () => ({
    run: async (prompt: string) => {
      prompts.push(prompt);
      writeFileSync(join(workspace, 'a'), 'two\n');
      return '';
    },
  });
  await new ArchitectLoop({ ...pass, maxIterations: 2 }, agent, workspace).run();
  expect(prompts.map((prompt) => prompt.includes('+two'))).toEqual([false, true]);
});

it('S3.36 S3.41 S3.58 works in a worktree, returns its path, and removes it on request', async () => {
  const workspace = openLibraryFolder();
  const git = (...args: readonly string[]): string =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t', ...args], {
      cwd: workspace,
      encoding: 'utf8',
    });
  git('init', '--quiet');
  git('config', 'user.name', 't');
  git('config', 'user.email', 't@t');
  git('commit', '--quiet', '--allow-empty', '--message', 'begin');
  const roots: string[] = [];
  const loop = new ArchitectLoop(
    { ...pass, checks: ['test -e made'], useWorktree: true },
    ({ workspaceRoot }) => ({
      run: async () => {
        roots.push(workspaceRoot);
        writeFileSync(join(workspaceRoot, 'made'), '');
        return 'COMPLETE';
      },
    }),
    workspace,
  );
  const result = await loop.run();
  const place = join(workspace, '.architect-ralph-worktree');
  expect({ success: result.success, worktreePath: result.worktreePath, roots }).toEqual({
    success: true,
    worktreePath: place,
    roots: [place],
  });
  expect([existsSync(join(place, 'made')), existsSync(join(workspace, 'made'))]).toEqual([true, false]);
  expect(git('status', '--porcelain')).toBe('');
  expect(git('show', '--name-only', '--format=', 'architect/ralph-loop').trim()).toBe('made');
  expect([await loop.cleanupWorktree(), await loop.cleanupWorktree()]).toEqual([true, false]);
  expect(existsSync(place)).toBe(false);
  expect(git('branch', '--list', 'architect/*')).toBe('');
});

it('rejects an unknown option and suggests the closest one', () => {
  const config = { ...pass, max_iterations: 2 };
  expect(() => new ArchitectLoop(config, answers(''), '/')).toThrow(
    'unknown option max_iterations (did you mean maxIterations?)',
  );
});
