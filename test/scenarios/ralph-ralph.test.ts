/** `ralph ralph`: the subcommands of document 003's `swarm ralph`, as `alias swarm=ralph` calls them. */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLoadedStage, waitFor } from './stage.ts';

it('S4.56 S4.57 S4.58 S4.59 S4.60 ralph ralph init and template write and print the starter prompt (T120)', async () => {
  const stage = openLoadedStage();
  const created = await stage.ralph('ralph', 'init').ended;
  expect(created).toEqual({ code: 0, stdout: 'created PROMPT.md\n', stderr: '' });
  const prompt = stage.read('PROMPT.md');
  const refused = await stage.ralph('ralph', 'init').ended;
  expect(refused).toEqual({
    code: 1,
    stdout: '',
    stderr: 'ralph: error: PROMPT.md already exists (use --force to overwrite)\n',
  });
  stage.write('PROMPT.md', 'mine');
  const forced = await stage.ralph('ralph', 'init', '--force').ended;
  expect(forced).toEqual({ code: 0, stdout: 'created PROMPT.md (overwritten)\n', stderr: '' });
  expect(stage.read('PROMPT.md')).toBe(prompt);
  const printed = await stage.ralph('ralph', 'template').ended;
  expect(printed).toEqual({ code: 0, stdout: prompt, stderr: '' });
  expect(existsSync(stage.path('.ralph'))).toBe(false);
});

it('S4.35 S4.36 S4.38 S4.39 S4.43 S4.64 ralph ralph status exits 0 for every loop, in four words; pause and resume have the texts (T109)', async () => {
  const stage = openLoadedStage();
  const words = async (): Promise<unknown> => {
    const { code, stdout } = await stage.ralph('ralph', 'status', 'it').ended;
    return [code, /^Ralph Loop: it\nStatus: (\w+)\nIteration: \d+\/\d+\nStarted: /.exec(stdout)?.[1]];
  };
  stage.plans('default', waitFor());
  stage.plans(2, waitFor('on'));
  await stage.spawns('work', '-m', '2').ended;
  await stage.waitForCall(1);
  expect(await words()).toEqual([0, 'running']);
  expect((await stage.ralph('ralph', 'resume', 'it').ended).stderr).toBe(
    "ralph: warning: worker 'it' is not paused\n",
  );
  const paused = await stage.ralph('ralph', 'pause', 'it').ended;
  expect(paused).toEqual({ code: 0, stdout: 'paused ralph loop for it\n', stderr: '' });
  expect((await stage.ralph('ralph', 'pause', 'it').ended).stderr).toBe(
    "ralph: warning: worker 'it' is already paused\n",
  );
  stage.release();
  await stage.ralph('wait', 'it').ended;
  expect(await words()).toEqual([0, 'paused']);
  const resumed = await stage.ralph('ralph', 'resume', 'it').ended;
  expect(resumed).toMatchObject({ code: 0, stdout: 'resumed ralph loop for it\n' });
  await stage.waitForCall(2);
  stage.release('on');
  await stage.ralph('wait', 'it').ended;
  expect(await words()).toEqual([0, 'stopped']);
  // Other presets have other texts and more words.
  stage.plans('default', 'exit 1');
  await stage.run('-p', 'work', '--max-failures', '1', '--fresh');
  expect(await words()).toEqual([0, 'failed']);
});

it('S4.37 ralph ralph says that a name no loop has is no ralph worker, and every error exits 1 (T111)', async () => {
  const stage = openLoadedStage();
  await stage.run('-p', 'work', '-m', '1');
  for (const command of ['pause', 'resume', 'status']) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other keeps the machine free
    const { code, stdout, stderr } = await stage.ralph('ralph', command, 'other').ended;
    expect({ command, code, stdout }).toEqual({ command, code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^ralph: error: worker 'other' is not a ralph worker\nno loop named "other" .*known here: it.*\n$/,
    );
  }
  const misspelt = await stage.ralph('ralph', 'statsu', 'it').ended;
  expect(misspelt.code).toBe(1);
  expect(misspelt.stderr).toContain('(Did you mean status?)');
});

it('S4.90 ralph ralph list shows every loop with its worker, by format and status (T121)', async () => {
  const stage = openLoadedStage();
  const list = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await stage.ralph('ralph', 'list', ...args).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  expect(await list()).toBe('');
  stage.plans(1, 'exit 1');
  stage.plans(2, waitFor());
  await stage.spawns('work', '-m', '3', '--max-failures', '2').ended;
  await stage.waitForCall(2);
  await stage.ralph('run', '--name', 'zero', '-p', 'x', '-m', '1', '--', 'true').ended;
  expect(await list()).toMatch(
    /^NAME +RALPH_STATUS +WORKER_STATUS +ITERATION +FAILURES\nit +running +running +2\/3 +1\nzero +stopped +stopped +1\/1 +0\n$/,
  );
  expect(await list('--status', 'running', '--format', 'names')).toBe('it\n');
  expect(JSON.parse(await list('--format', 'json'))).toMatchObject([
    { name: 'it', status: 'running', metadata: { ralph: true, ralph_iteration: 2 } },
    { name: 'zero', status: 'stopped' },
  ]);
  expect((await stage.ralph('ralph', 'list', '--status', 'gone').ended).code).toBe(1);
  await stage.ralph('kill', 'it').ended;
});
