/** What documents 000 and 001 require of the repository itself. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { openLoadedStage } from './stage.ts';

const text = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('S2.89 .gitignore covers build output, logs, and files of editors and operating systems', () => {
  const ignored = text('.gitignore').split('\n');
  for (const entry of ['dist/', '.ralph/', '*.log', '.idea/', '.vscode/', '*.swp', '.DS_Store']) {
    expect(ignored).toContain(entry);
  }
});

it('S2.90 the Makefile has the seven targets, which are scripts of package.json, and all runs the others in order', () => {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- our own file
  const { scripts } = JSON.parse(text('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const recipes = [...text('Makefile').matchAll(/^(\w+):.*\n\tnpm (?:run )?(\S+)$/gm)];
  const targets = new Map(recipes.map(([, target, script]) => [target, script]));
  targets.delete('node_modules');
  expect([...targets.keys()]).toEqual(['build', 'test', 'lint', 'fmt', 'clean', 'install', 'all']);
  for (const script of targets.values()) expect(scripts[script ?? '']).toEqual(expect.any(String));
  const steps = ['npm run format', 'npm run lint', 'npm test', 'npm run build'];
  expect(scripts['all']?.split(' && ')).toEqual(steps);
  // npm would run a script of that name on every installation of the package.
  expect(scripts['install']).toBeUndefined();
});

it('S2.91 the README has the sections that a new user needs', () => {
  const readme = text('README.md');
  for (const part of [
    /^Ralph runs a coding agent/m,
    /^Prerequisites: /m,
    /^## Install/m,
    /^## Develop/m,
    /`npm run build`/,
    /ralph run "fix the failing tests"/,
    /docs\/configuration\.md/,
    /ARCHITECTURE\.md/,
  ]) {
    expect(readme).toMatch(part);
  }
});

it('S2.92 every source folder has tests, and so has every feature that the document lists', () => {
  const source = new URL('../../src/', import.meta.url);
  const folders = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const without = folders.filter(
    ({ name }) => !readdirSync(new URL(`${name}/`, source)).some((file) => file.endsWith('.test.ts')),
  );
  expect(without.map(({ name }) => name)).toEqual([]);
  const files = [
    'contract/s2-ralph-cli',
    ...['settings', 'ralph-cli', 'guardrails'].map((name) => `scenarios/${name}`),
  ];
  const tests = files.map((file) => text(`test/${file}.test.ts`)).join('');
  // Loading, merging, parsing, validation, the completion pattern, fail actions, truncation.
  for (const id of ['S2.26', 'S2.30', 'S2.8', 'S2.13', 'S2.52', 'S2.100', 'S2.58'])
    expect(tests).toMatch(new RegExp(`it\\('[S\\d. ]*\\b${id} `));
});

it('S1.48 integration tests cover a real agent, the clean-up of the process group and the timeout', () => {
  expect(text('test/agents/one-real-agent.test.ts')).toMatch(/^it\('a real agent /m);
  expect(text('test/e2e/behaviours.test.ts')).toMatch(/it\(`S1\.36 S1\.37 is killed after the agent exits/);
  expect(text('test/scenarios/conductor.test.ts')).toMatch(
    /it\('S1\.39 S1\.40 that exceed --iteration-timeout/,
  );
});

it('S2.3 the commands are init and run, which is the default, and a flag prints the version', async () => {
  const stage = openLoadedStage();
  const help = (await stage.ralph('--help').ended).stdout;
  expect(help).toMatch(/^ {2}init /m);
  expect(help).toMatch(/^ {2}run .*\s+default command/ms);
  for (const flag of ['--version', '-v']) {
    // oxlint-disable-next-line no-await-in-loop -- two short commands
    const { code, stdout } = await stage.ralph(flag).ended;
    expect({ code, isVersion: /^\d/.test(stdout) }).toEqual({ code: 0, isVersion: true });
  }
  stage.plans(1, "echo '<promise>DONE</promise>'");
  expect((await stage.ralph('-p', 'work', '--', stage.agent).ended).code).toBe(0);
});
