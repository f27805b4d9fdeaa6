import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { records } from './checkpoint-stage.ts';
import { openRepository } from './repository.ts';

it('a loop leaves large untracked files out of checkpoints and commits, says so once, and a rewind keeps them', async () => {
  const stage = openRepository();
  stage.plans('default', 'truncate -s 5G data.bin; echo "$RALPH_ITERATION" >log; echo "Add a log"');
  const { stderr } = await stage.run('-p', 'work', '-m', '2');
  const warnings = stderr.match(/^.*warning: .*$/gm) ?? [];
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(
    'warning: incomplete checkpoint of iteration 1: left out of checkpoints and commits, larger than 100 MB: data.bin; ',
  );
  expect(records(stage)).toEqual(['1', '2', 'start']);
  expect(stage.git('show', '--format=', '--name-only', 'HEAD')).toBe('log\n');
  const rewound = await stage.ralph('rewind', 'it', '1').ended;
  expect(rewound.stdout).toContain('note: data.bin is too large for checkpoints; it was left as it is\n');
  expect(stage.read('log')).toBe('1\n');
  expect(statSync(stage.path('data.bin')).size).toBe(5 * 2 ** 30);

  stage.plans('default', 'truncate -s 30k small.bin; truncate -s 5k tiny.bin');
  const limited = await stage.run('-p', 'more', '-m', '1', '--checkpoint-max-file', '20k', '--fresh');
  expect(limited.stderr).toContain('larger than 20 KB: data.bin, small.bin; ');
  stage.plans('default', 'truncate -s 15k other.bin');
  const together = await stage.run('-p', 'more', '-m', '1', '--checkpoint-max-total', '30k', '--fresh');
  expect(together.stderr).toContain('larger than 100 MB: data.bin; add');
  expect(together.stderr).toContain(
    'left out of checkpoints and commits, the largest of untracked files that take more than 30 KB together: small.bin; add them to .gitignore, or raise the limit with --checkpoint-max-total',
  );
  const bad = await stage.run('-p', 'more', '--checkpoint-max-file', 'big', '--fresh');
  expect(bad).toMatchObject({ code: 2 });
  expect(bad.stderr).toContain('--checkpoint-max-file must be a size such as 500k, 20m or 1g, got "big"');
});
