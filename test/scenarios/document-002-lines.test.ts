/** Every example line of document 002, as it is printed, under `alias architect=ralph`. */
import { describe, expect, it } from 'vitest';
import { claudeAnswers, openLines, TYPED } from './document-lines.ts';

const LOOPS = {
  oneCheck: `architect loop "implementa autenticación JWT" \\
--check "pytest tests/test_auth.py"`,
  allChecks: `architect loop "refactoriza el módulo de pagos" \\
--check "pytest tests/" \\
--check "ruff check src/" \\
--check "mypy src/"`,
  spec: `architect loop "implementar según spec" \\
--spec requirements/auth-spec.md \\
--check "pytest tests/test_auth.py" \\
--check "ruff check src/auth/"`,
  worktree: `architect loop "migrar de SQLAlchemy a Tortoise ORM" \\
--check "pytest tests/" \\
--worktree \\
--max-iterations 10`,
  flow: 'architect loop "task" --check "pytest" --check "ruff check src/"',
  limits: `architect loop "implementa feature X según la spec" \\
--spec spec.md \\
--check "pytest tests/ -x" \\
--check "ruff check src/" \\
--max-iterations 10 \\
--max-cost 3.0 \\
--max-time 600 \\
--model gpt-4o`,
  ci: `architect loop "\${{ github.event.issue.body }}" \\
--spec spec.md \\
--check "pytest tests/ -q" \\
--check "ruff check src/" \\
--max-iterations 5 \\
--max-cost 2.0 \\
--quiet`,
  experiment: `architect loop "migra a async/await" \\
--check "pytest tests/" \\
--worktree \\
--max-iterations 15`,
};
const AFTERWARDS = {
  see: 'cd .architect-ralph-worktree\ngit diff HEAD~1',
  merge: 'git checkout main\ngit merge architect/ralph-loop',
  cleanUp: 'git worktree remove .architect-ralph-worktree\ngit branch -D architect/ralph-loop',
  inspect: 'git diff main...architect/ralph-loop\ngit merge architect/ralph-loop',
};
// The runner of the workflow replaces it before the shell reads the line.
const ISSUE = { '${{ github.event.issue.body }}': 'The login fails.' };
const passes = `: >fixed\n${claudeAnswers('COMPLETE')}`;

describe('under alias architect=ralph', () => {
  it('S3.1 S3.3 S3.4 S3.33 the lines with checks iterate until all of them pass and the agent is done', async () => {
    const { stage, types } = openLines('architect');
    stage.plans(1, claudeAnswers('half of it'));
    stage.plans('default', passes);
    const first = await types(LOOPS.oneCheck).ended;
    expect({ code: first.code, calls: stage.calls }).toEqual({ code: 0, calls: 2 });
    expect(first.stderr).toMatch(/^Ralph Loop: 1 check\(s\), max 25 iterations$/m);
    expect(first.stderr).toContain('\n  stop_reason all_checks_passed\n  iterations  2 of 25\n');
    expect(stage.given(2, 'stdin')).toContain('implementa autenticación JWT');
    const second = await types(LOOPS.allChecks).ended;
    expect(second.code).toBe(0);
    expect(second.stderr).toMatch(/^Ralph Loop: 3 check\(s\), /m);
    const third = await types(LOOPS.flow).ended;
    expect({ code: third.code, calls: stage.calls }).toEqual({ code: 0, calls: 4 });
    expect(stage.read('.architect/ralph-progress.md')).toMatch(
      /^ {2}- pytest: PASS\n {2}- ruff check src\/: PASS$/m,
    );
  });

  it('S3.5 S3.11 S3.14 S3.33 the lines with a specification, limits and a model keep to them', async () => {
    const { stage, types } = openLines('architect');
    stage.plans('default', passes);
    stage.write('requirements/auth-spec.md', 'Use JWT with RS256.');
    stage.write('spec.md', 'Feature X has a switch.');
    expect((await types(LOOPS.spec).ended).code).toBe(0);
    expect(stage.given(1, 'stdin')).toContain('Use JWT with RS256.');
    expect(stage.given(1, 'stdin')).not.toContain('implementar según spec');
    const limited = await types(LOOPS.limits).ended;
    expect(limited.code).toBe(0);
    expect(limited.stderr).toMatch(/^Ralph Loop: 2 check\(s\), max 10 iterations$/m);
    expect(stage.given(2, 'argv')).toMatch(/^--model\ngpt-4o$/m);
    const quiet = await types(LOOPS.ci, ISSUE).ended;
    expect(quiet.code).toBe(0);
    expect(quiet.stderr).not.toMatch(/starting iteration|Ralph Loop:/);
    expect(quiet.stderr).toContain('\n  stop_reason all_checks_passed\n');
    stage.plans('default', claudeAnswers('no idea'));
    const failed = await types(LOOPS.ci, ISSUE).ended;
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain('\n  stop_reason max_iterations\n  iterations  5 of 5\n');
  });

  it('S3.34 S3.36 S3.37 S3.38 the lines with a worktree leave a branch that git merges and removes', async () => {
    const { stage, types } = openLines('architect');
    stage.plans('default', passes);
    const looped = await types(LOOPS.worktree).ended;
    expect(looped.code).toBe(0);
    expect(looped.stderr).toContain(stage.path('.architect-ralph-worktree'));
    expect((await types(AFTERWARDS.see).ended).stdout).toContain('diff --git a/fixed b/fixed');
    expect(await types(AFTERWARDS.merge).ended).toMatchObject({ code: 0 });
    expect(stage.git('ls-files')).toContain('fixed\n');
    expect(await types(AFTERWARDS.cleanUp).ended).toMatchObject({ code: 0 });
    expect(stage.git('branch', '--list', 'architect/*')).toBe('');
    stage.git('rm', '-q', 'fixed');
    stage.git('commit', '-qm', 'again');
    stage.plans('default', `: >async\n${passes}`);
    expect((await types(LOOPS.experiment).ended).code).toBe(0);
    const inspected = await types(AFTERWARDS.inspect).ended;
    expect(inspected.code).toBe(0);
    expect(inspected.stdout).toContain('b/async');
    expect(stage.git('ls-files')).toContain('async\n');
  });

  it('every line of document 002 was typed', () => {
    const printed = [...Object.values(LOOPS), ...Object.values(AFTERWARDS)];
    expect(printed.filter((line) => !TYPED.has(line))).toEqual([]);
  });
});
