import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLoadedStage, openStage, type OpenStage, type Stage } from './stage.ts';

const DONE = "echo '<promise>DONE</promise>'";
const tick = (item: string): string => `sed -i.old 's/\\[ \\] ${item}/[x] ${item}/' PLAN.md; rm PLAN.md.old`;

/** A stage with a committed plan. */
function stageWith(plan: string, file = 'PLAN.md', open: OpenStage = openLoadedStage): Stage {
  const stage = open();
  stage.write(file, plan);
  stage.identifies();
  stage.git('add', '.');
  stage.git('commit', '--quiet', '--message', 'plan');
  return stage;
}

interface Record {
  readonly plan: unknown;
}

async function record(stage: Stage): Promise<Record> {
  const { stdout } = await stage.ralph('status', 'it', '--json').ended;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the test checks the values
  return (JSON.parse(stdout) as { readonly record: Record }).record;
}

describe('a loop with a plan', () => {
  it('rejects a claim with open items by name, shows the next one, and ends when all are done', async () => {
    const stage = stageWith('# Plan\n- [x] zero\n- [ ] one\n  - [ ] part\n\n    With tests.\n- [ ] two\n');
    stage.plans(1, `echo 1 >a; ${tick('part')}; ${DONE}`);
    stage.plans(2, `${tick('one')}; cat PLAN.md >"$FAKE_CALL/plan"`);
    stage.plans(3, `echo 2 >a; ${tick('two')}; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--plan', 'PLAN.md');
    expect(code).toBe(0);
    expect(stage.given(1, 'stdin')).toContain(
      'PLAN.md: 1/4 done. Work on the next open item:\n\none > part\n\n- [ ] part\n\n  With tests.\n',
    );
    expect(stderr).toContain('starting iteration 1/10, plan 1/4\n');
    expect(stderr).toContain('check failed: ralph plan check PLAN.md (exit 1');
    expect(stderr).toContain('  |  open: one\n  |  open: two\n  |  PLAN.md: 2/4 done, 2 open\n');
    expect(stderr).toContain('claim rejected: the agent says it is done, but 1 check fails\n');
    expect(stage.given(2, 'stdin')).toMatch(/2\/4 done[^]*\n\none\n[^]*open: one\nopen: two\n/);
    expect(stderr).toContain('plan 3/4, ticked without a change in the tree: one\n');
    expect(stderr).toContain('plan 4/4, ticked: two\n');
    expect(stderr).toContain(
      '  plan        PLAN.md: 4/4 done\n  ticked      without a change in the tree: one\n',
    );
    const plan = { file: 'PLAN.md', done: 4, total: 4, next: null, tickedAlone: ['one'], moreTickedAlone: 0 };
    expect((await record(stage)).plan).toMatchObject(plan);
    const status = (await stage.ralph('status', 'it').ended).stdout;
    expect(status).toContain('Plan: PLAN.md: 4/4 done\nTicked: without a change in the tree: one\n');
    expect((await stage.ralph('ls').ended).stdout).toMatch(/ITER\s+CHECKS\s+PLAN[^]*3\/10\s+pass\s+4\/4/);
    expect((await stage.ralph('story', 'it').ended).stdout).toContain(
      'ticked without a change in the tree: one',
    );
    expect(stage.read('.ralph/loops/it/progress.md')).toContain('- Plan: 3/4\n');
    // The plan is meant to be changed.
    expect(stderr).not.toContain('files that verify the work');
  });

  it('does not take a plan for done that was removed, emptied, or lost its open items', async () => {
    const stage = stageWith('- [x] zero\n- [ ] one\n- [ ] two\n');
    stage.plans(1, `rm PLAN.md; ${DONE}`);
    stage.plans(2, `echo '# Plan' >PLAN.md; ${DONE}`);
    stage.plans(3, `printf '%s\\n' '- [x] zero' '- [x] one' '- [x] second' >PLAN.md; ${DONE}`);
    stage.plans(4, `printf '%s\\n' '- [x] one' '- [x] two' >PLAN.md; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--plan', 'PLAN.md');
    expect(code).toBe(0);
    expect(stage.calls).toBe(4);
    expect(stderr).toContain('  |  plan not found: PLAN.md\n');
    expect(stage.given(2, 'stdin')).toContain('Ralph cannot read the plan: plan not found: PLAN.md.');
    expect(stderr).toContain('  |  the plan PLAN.md has no checkboxes');
    expect(stderr).toContain('  |  missing: two (open at the start, not in the plan now; put it back)\n');
    expect(stage.given(4, 'stdin')).toContain('PLAN.md: 3/3 done, 1 missing.');
  });

  it('blocks an item by name after --max-attempts-per-item iterations, shows the next one, and ends when all are blocked', async () => {
    const stage = stageWith('- [ ] one\n- [ ] two\n- [ ] three\n');
    stage.plans('default', 'date +%N >>a');
    // Another case and other punctuation make no other item of it.
    stage.plans(2, 'date +%N >>a; sed -i "s/\\[ \\] one/[ ] ONE!/" PLAN.md');
    stage.plans(4, `date +%N >>a; ${tick('two')}`);
    const words = ['-m', '20', '--plan', 'PLAN.md', '--max-attempts-per-item', '2'];
    const { code, stderr } = await stage.run('-p', 'work', ...words);
    expect(code).toBe(1);
    const shown = Array.from({ length: stage.calls }, (_, index) => stage.given(index + 1, 'stdin'));
    expect(shown.map((prompt) => /next open item:\n\n(.*)/.exec(prompt)?.[1])).toEqual([
      'one',
      'one',
      'two',
      'two',
      'three',
      'three',
    ]);
    expect(shown[1]).not.toContain('Blocked');
    expect(shown[2]).toContain(
      'Blocked, because earlier iterations did not finish them; do not work on them: ONE!\n',
    );
    expect(stderr).toContain('starting iteration 3/20, plan 0/3, 1 blocked\n');
    expect(stderr).toContain(
      'stuck: every open item of the plan is blocked after 2 iterations: ONE!, three\n',
    );
    const status = (await stage.ralph('status', 'it').ended).stdout;
    expect(status).toContain('Plan: PLAN.md: 1/3 done, 1 missing, blocked: ONE!, three\n');
    expect((await record(stage)).plan).toMatchObject({ blocked: ['ONE!', 'three'], moreBlocked: 0 });
    // A person who resumes the loop lets it try again.
    stage.plans('default', `date +%N >>a; sed -i 's/\\[ \\]/[x]/; s/ONE!/one/' PLAN.md; ${DONE}`);
    expect((await stage.ralph('resume', 'it').ended).code).toBe(0);
  });

  it('needs no claim with --until checks, and reads a prd.json', async () => {
    const story = (id: string, priority: number): object => ({
      id,
      title: `title of ${id}`,
      passes: false,
      priority,
    });
    const prd = JSON.stringify(
      { branchName: 'x', userStories: [story('US-2', 2), story('US-1', 1)] },
      null,
      2,
    );
    const stage = stageWith(prd, 'tasks/prd.json');
    stage.plans('default', `sed -i.old 's/false/true/' tasks/prd.json; rm tasks/prd.json.old; echo x >x`);
    stage.settings({ plan: 'tasks/prd.json' });
    const report = join(stage.plan, 'report.md');
    const reported = ['--report', 'markdown', '--report-file', report];
    const { code, stderr } = await stage.run('-p', 'work', '--until', 'checks', ...reported);
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    expect(stage.given(1, 'stdin')).toContain(
      'tasks/prd.json: 0/2 done. Work on the next open item:\n\nUS-1 title',
    );
    expect(readFileSync(report, 'utf8')).toContain('| plan | tasks/prd.json: 2/2 done |\n');
    expect(stderr).toContain('plan 2/2, ticked: US-1 title of US-1, US-2 title of US-2\n');
  });

  it('in a worktree counts the plan of the worktree, and the merge checks it too', async () => {
    const stage = stageWith('- [ ] one\n');
    stage.plans('default', `${tick('one')}; ${DONE}`);
    const { code } = await stage.run('-p', 'work', '--plan', 'PLAN.md', '--worktree');
    expect(code).toBe(0);
    expect(stage.read('PLAN.md')).toBe('- [ ] one\n');
    const merged = await stage.ralph('worktree', 'merge', 'it').ended;
    expect({ ...merged, plan: stage.read('PLAN.md') }).toMatchObject({ code: 0, plan: '- [x] one\n' });
    expect(merged.stderr).toContain('check passed: ralph plan check PLAN.md\n');
  });

  it('in a sandbox with its checks does not need the state in there', { tags: ['bwrap'] }, async () => {
    const stage = stageWith('- [ ] one\n');
    const settings = join(stage.env['HOME'] ?? '', '.config/ralph/settings.json');
    mkdirSync(dirname(settings), { recursive: true });
    const sandbox = { checks: true, write: [stage.plan, dirname(stage.agent)] };
    writeFileSync(settings, JSON.stringify({ sandbox }));
    const ralph = `${process.execPath} ${stage.main}`;
    stage.plans('default', `${ralph} plan check PLAN.md >"$FAKE_CALL/check"; ${tick('one')}; ${DONE}`);
    const { code } = await stage.run('-p', 'work', '--plan', 'PLAN.md');
    expect(code).toBe(0);
    expect(stage.given(1, 'check')).toBe('open: one\nPLAN.md: 0/1 done, 1 open\n');
  });

  it('names an item that a run ticked, also if the owner was killed in between', async () => {
    const stage = stageWith('- [ ] one\n- [ ] two\n', 'PLAN.md', openStage);
    stage.plans(
      1,
      `${tick('one')}; : >"$FAKE_PLAN/ticked"; while ! test -e "$FAKE_PLAN/go"; do sleep 0.02; done`,
    );
    stage.plans(2, `${tick('two')}; ${DONE}`);
    const killed = stage.starts('-p', 'work', '--plan', 'PLAN.md');
    await stage.waitForFile(join(stage.plan, 'ticked'));
    killed.signal('SIGKILL');
    await killed.ended;
    stage.release();
    const { code, stderr } = await stage.ralph('resume', 'it').ended;
    expect(code).toBe(0);
    expect(stderr).toContain('  ticked      without a change in the tree: one, two\n');
  });

  it('names an item that one run removed and the next put back as done', async () => {
    const stage = stageWith('- [ ] one\n- [ ] two\n');
    stage.plans(1, 'echo "- [ ] one" >PLAN.md');
    stage.plans(2, `printf -- '- [x] one\\n- [x] two\\n' >PLAN.md; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--plan', 'PLAN.md');
    expect(code).toBe(0);
    expect(stderr).toContain('  ticked      without a change in the tree: one, two\n');
  });

  it('outside of git says nothing about changes', async () => {
    const stage = openLoadedStage();
    stage.write('PLAN.md', '- [ ] one\n');
    await stage.shell('rm -rf .git').ended;
    stage.plans('default', `${tick('one')}; ${DONE}`);
    const { code, stderr } = await stage.run('-p', 'work', '--plan', 'PLAN.md');
    expect(code).toBe(0);
    expect(stderr).toContain('plan 1/1, ticked: one\n');
  });
});

describe('a plan that cannot be used', () => {
  it.each([
    ['none.md', 'plan not found: none.md'],
    ['../out.md', '--plan must be a file inside the workspace, got "../out.md"'],
    ['README.md', 'the plan README.md has no checkboxes; write its items as "- [ ] text"'],
    ['link.md', 'cannot read the plan link.md: it is a symbolic link'],
    ['bad.json', 'the plan bad.json:1:2 is not valid JSON: unexpected "x"'],
  ])('is refused before the loop starts: %s', async (file, message) => {
    const stage = openLoadedStage();
    symlinkSync('README.md', stage.path('link.md'));
    stage.write('bad.json', '{x}');
    const { code, stderr } = await stage.run('-p', 'work', '--plan', file);
    expect({ code, stderr, loops: stage.loops }).toMatchObject({
      code: 2,
      stderr: `ralph: error: ${message}\n`,
      loops: [],
    });
  });

  it('is refused for a worktree if it is not committed', async () => {
    const stage = openLoadedStage();
    stage.identifies();
    stage.write('PLAN.md', '- [ ] one\n');
    const { code, stderr } = await stage.run('-p', 'work', '--plan', 'PLAN.md', '--worktree');
    expect(code).toBe(2);
    expect(stderr).toBe(
      'ralph: error: plan not found: PLAN.md; a new worktree has committed files only, so commit the plan first\n',
    );
  });
});

describe('ralph plan', () => {
  it('check lists open items and exits 1, 0 without any, 2 without a plan', async () => {
    const stage = openLoadedStage();
    stage.write('a.md', '- [ ] one\n  - [ ] part\n- [x] two\u001B[2J\n');
    stage.write('b.md', '- [x] one\n');
    const open = await stage.ralph('plan', 'check', 'a.md').ended;
    expect(open).toMatchObject({
      code: 1,
      stdout: 'open: one\nopen: part (in: one)\na.md: 1/3 done, 2 open\n',
    });
    expect(await stage.ralph('plan', 'check', 'b.md').ended).toMatchObject({
      code: 0,
      stdout: 'b.md: 1/1 done\n',
    });
    expect(await stage.ralph('plan', 'check', 'c.md').ended).toMatchObject({
      code: 2,
      stderr: 'ralph: error: plan not found: c.md\n',
    });
  });

  it('show lists every item, as text and as JSON', async () => {
    const stage = openLoadedStage();
    stage.write('a.md', '- [ ] one\n  - [ ] part\n- [x] two\u001B[2J\n');
    const shown = await stage.ralph('plan', 'show', 'a.md').ended;
    expect(shown).toMatchObject({
      code: 0,
      stdout: '  [ ] one\n>   [ ] part\n  [x] two [2J\na.md: 1/3 done, 2 open\n',
    });
    const { stdout } = await stage.ralph('plan', 'show', 'a.md', '--json').ended;
    expect(JSON.parse(stdout)).toMatchObject({
      file: 'a.md',
      done: 1,
      total: 3,
      next: 1,
      items: [{ title: 'one', done: false, depth: 0, parent: null }, { parent: 0, depth: 1 }, { done: true }],
    });
  });
});
