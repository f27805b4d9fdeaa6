import { expect, it } from 'vitest';
import { openRepository } from './repository.ts';

const flood = 'yes >&2';

it('maxOutput also ends checks, set-ups and SCM tasks, which say so by name', async () => {
  const stage = openRepository({ command: 'git', tasks: ['commit', 'flood'], timeout: '20s' });
  stage.git('config', 'alias.flood', `!${flood}`);
  stage.plans('default', "echo 1 >>a; echo '<promise>DONE</promise>'");
  const committed = await stage.run('-p', 'work', '-m', '1', '--max-output', '20k');
  expect(committed.stderr).toContain('SCM task "flood" failed: printed more than 20480 bytes (maxOutput)');

  const checked = await stage.run(
    '-p',
    'work',
    '-m',
    '1',
    '--max-output',
    '20k',
    '--check',
    flood,
    '--fresh',
  );
  expect(checked.code).toBe(1);
  expect(checked.stderr).toContain(`check failed: ${flood} (output limit exceeded, `);
  expect(checked.stderr).toMatch(/failing +yes >&2 \(output limit exceeded\)/);

  stage.settings({ setup: [flood], maxOutput: '20k' });
  const setUp = await stage.run('-p', 'work', '--worktree', '--fresh');
  expect(setUp.code).toBe(2);
  expect(setUp.stderr).toContain(`set-up failed: ${flood} (printed more than 20480 bytes (maxOutput))`);
});
