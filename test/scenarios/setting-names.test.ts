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
