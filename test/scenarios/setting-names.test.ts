/** Settings with two names: Ralph's own and the one of document 001. */
import { describe, expect, it } from 'vitest';
import { configOf } from './config-of.ts';
import { openLoadedStage } from './stage.ts';

describe('a setting with two names', () => {
  it('S2.27 S2.29 lets a local setting override the shared one under its other name', async () => {
    const stage = openLoadedStage();
    stage.settings({
      preset: 'ralph-cli',
      maximumIterations: 9,
      guardrails: [{ command: 'false' }],
      agent: { command: stage.agent },
    });
    stage.settings(
      { maxIterations: 4, checks: [{ command: 'true', action: 'replace' }] },
      'settings.local.json',
    );
    expect(await configOf(stage)).toMatchObject({
      maxIterations: { value: 4, origin: 'local', place: '.ralph/settings.local.json:2:3' },
      checks: { value: [{ command: 'true', failAction: 'REPLACE' }], origin: 'local' },
    });
    stage.settings({ maxIterations: 9, checks: [{ command: 'false' }] });
    stage.settings({ maximumIterations: 4, guardrails: [{ command: 'true' }] }, 'settings.local.json');
    expect(await configOf(stage)).toMatchObject({
      maxIterations: { value: 4, origin: 'local', place: '.ralph/settings.local.json:2:3' },
      checks: {
        value: [{ command: 'true', failAction: 'APPEND' }],
        origin: 'local',
        place: '.ralph/settings.local.json:3:3',
      },
    });
  });

  it('S2.27 S2.52 chooses preset ralph-cli where no file names a preset, so that the example of document 001 works', async () => {
    const stage = openLoadedStage();
    stage.settings({
      maximumIterations: 10,
      completionResponse: 'DONE',
      outputTruncateChars: 5000,
      streamAgentOutput: true,
      includeIterationCountInPrompt: false,
      agent: { command: stage.agent, flags: ['--model opus', '--no-auto-compact'] },
      guardrails: [
        { command: 'true', failAction: 'APPEND', hint: 'Fix lint errors only. Do not change behavior.' },
      ],
    });
    // The default preset hears a response only alone on a line.
    stage.plans('default', "echo 'Everything works. <response>DONE</response>'");
    const { code, stderr } = await stage.ralph('run', '--name', 'it', '-p', 'work').ended;
    expect({ code, calls: stage.calls }).toEqual({ code: 0, calls: 1 });
    const why = 'maximumIterations in .ralph/settings.json:2:3 is a name of document 001';
    expect(stderr).toContain(
      `[ralph] it: using preset ralph-cli, because ${why}; choose another with --preset, or "preset" in the file\n`,
    );
    expect((await configOf(stage))['preset']).toEqual({
      value: 'ralph-cli',
      origin: 'file',
      place: '.ralph/settings.json:2:3',
    });
  });

  it('lets a preset in either file, on the command line or of a command override the one of the names', async () => {
    const stage = openLoadedStage();
    stage.settings({ guardrails: [{ command: 'true' }], agent: { command: stage.agent } });
    const { stderr } = await stage.ralph('run', '--name', 'it', '-p', 'x', '-m', '1', '--preset', 'promise')
      .ended;
    expect(stderr).not.toContain('document 001');
    expect(stage.journalOf('it')[0]).toMatchObject({ policy: { preset: 'promise' } });
    const looped = await stage.ralph('loop', 'x', '--name', 'other', '-m', '1').ended;
    expect(looped.stderr).not.toContain('document 001');
    expect(stage.journalOf('other')[0]).toMatchObject({ policy: { preset: 'architect' } });
    expect((await configOf(stage))['preset']?.value).toBe('ralph-cli');
    stage.settings({ preset: 'default' }, 'settings.local.json');
    expect((await configOf(stage))['preset']?.value).toBe('default');
    stage.settings({ preset: 'conductor', checks: [] });
    stage.settings({ maximumIterations: 4 }, 'settings.local.json');
    expect((await configOf(stage))['preset']?.value).toBe('conductor');
  });

  it('rejects both names of a setting in one file, and names both', async () => {
    const stage = openLoadedStage();
    for (const [settings, message] of [
      [
        { maxIterations: 3, maximumIterations: 3 },
        '.ralph/settings.json:3:3: "maximumIterations" and "maxIterations" are two names of one setting; keep one of them',
      ],
      [{ guardrails: [], checks: [] }, '.ralph/settings.json:2:3: "guardrails" and "checks" are two names'],
      [
        { guardrails: [{ command: 'x', failAction: 'APPEND', action: 'APPEND' }] },
        '.ralph/settings.json:6:7: "guardrails[0].action" and "guardrails[0].failAction" are two names',
      ],
    ] as const) {
      stage.settings(settings);
      // oxlint-disable-next-line no-await-in-loop -- one file for all
      const { code, stderr } = await stage.ralph('config').ended;
      expect({ settings, code }).toEqual({ settings, code: 2 });
      expect(stderr).toContain(message);
    }
  });
});
