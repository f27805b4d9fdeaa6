import { describe, expect, it } from 'vitest';
import { openStage } from './stage.ts';

describe('a preset whose host does not exist yet', () => {
  it('promise warns that its agent runs as a plain process', async () => {
    const stage = openStage();
    const { stderr } = await stage.run('-p', 'work', '--preset', 'promise', '-m', '1');
    expect(stderr.split('\n').filter((line) => line.includes('preset'))).toEqual([
      `[ralph] it: warning: preset "promise" runs its agent in one continuing session, which this version does not support yet; the agent runs as a plain process`,
    ]);
    expect(stage.calls).toBe(1);
  });

  it.each(['default', 'conductor', 'ralph-cli', 'swarm'])('%s does not warn', async (preset) => {
    const stage = openStage();
    const { stderr } = await stage.run('-p', 'work', '--preset', preset, '-m', '1');
    expect(stderr).not.toContain('plain process');
  });
});
