import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

const TEMPLATE = `study specs/README.md
study CLAUDE.md and pick the most important incomplete task

IMPORTANT:

- do not assume anything is implemented - verify by reading code
- update IMPLEMENTATION_PLAN.md when the task is done
- if tests are missing, add them (choose unit/integration/property as appropriate, follow existing patterns)
- run tests after changes
- commit and push when you are done
`;

it('S4.56 S4.57 S4.58 S4.59 init --prompt creates PROMPT.md, keeps an existing one, and overwrites it with --force (T120)', async () => {
  const stage = openLoadedStage();
  const created = await stage.ralph('init', '--prompt').ended;
  expect(created).toEqual({ code: 0, stdout: 'created PROMPT.md\n', stderr: '' });
  expect(stage.read('PROMPT.md')).toBe(TEMPLATE);
  stage.write('PROMPT.md', 'mine');
  const refused = await stage.ralph('init', '--prompt').ended;
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: 'ralph: error: PROMPT.md already exists (use --force to overwrite)\n',
  });
  expect(stage.read('PROMPT.md')).toBe('mine');
  const forced = await stage.ralph('init', '--prompt', '--force').ended;
  expect(forced).toEqual({ code: 0, stdout: 'created PROMPT.md (overwritten)\n', stderr: '' });
  expect(stage.read('PROMPT.md')).toBe(TEMPLATE);
  expect(existsSync(stage.path('.ralph'))).toBe(false);
});

it('S4.60 S4.61 S4.62 template prints the starter prompt, and redirected it is the same file (T120)', async () => {
  const stage = openLoadedStage();
  expect(await stage.shell('$RALPH template > BUILD_PROMPT.md').ended).toMatchObject({ code: 0, stderr: '' });
  expect(stage.read('BUILD_PROMPT.md')).toBe(TEMPLATE);
  expect(stage.read('BUILD_PROMPT.md').split('\n')).toHaveLength(11);
  expect(stage.read('BUILD_PROMPT.md')).not.toMatch(/^#/m);
  expect(existsSync(stage.path('PROMPT.md'))).toBe(false);
});
