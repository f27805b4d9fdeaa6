import { describe, expect, it } from 'vitest';
import { askedNotices, noticeVariables, secretPlaceIn, secretsAgain, withoutAddresses } from './notify.ts';
import type { Settings } from './settings.ts';

type Part = Pick<Settings, 'notify' | 'on'>;

const env = { OPS: 'https://ops.example/hook/abc', OPS_KEY: 'key\n', EMPTY: '', WORD: 'not-an-address' };

function asked({
  user = null,
  merged = null,
  flags = null,
}: Partial<Record<'user' | 'merged' | 'flags', Part | null>>) {
  return askedNotices({ user, merged, flags }, env);
}

describe('where notices go', () => {
  it('adds up over the own settings and those of the workspace or the options', () => {
    const { targets, secrets } = asked({
      user: { notify: [{ to: 'https://ntfy.sh/mine', name: 'phone', key: 'own-key' }] },
      merged: {
        notify: ['desktop', { to: 'env:OPS', key: 'env:OPS_KEY', timeout: '2s' }],
        on: { 'iteration.ended': 'echo' },
      },
    });
    expect(targets.map(({ name, kind }) => [name, kind])).toEqual([
      ['phone', 'address'],
      ['desktop', 'desktop'],
      ['OPS', 'address'],
      ['on iteration.ended', 'command'],
    ]);
    expect(secrets).toEqual({
      phone: { address: 'https://ntfy.sh/mine', key: 'own-key' },
      // Without the line end that its variable has, as after reading a file.
      OPS: { address: env.OPS, key: 'key' },
    });
    expect(JSON.stringify(targets)).not.toMatch(/mine|own-key|ops\.example/);
    expect(targets.at(-1)?.events).toEqual(['iteration.ended']);
    expect(targets[2]?.timeoutMs).toBe(2000);
    expect(noticeVariables(targets)).toEqual(['OPS', 'OPS_KEY']);
  });

  it('gives every place a name of its own', () => {
    const { targets } = asked({ merged: { notify: ['command a', 'command b'] } });
    expect(targets.map(({ name }) => name)).toEqual(['command', 'command-2']);
  });

  it('is the same place again when a loop is resumed, also for one without a name', () => {
    const user = { notify: ['https://one.example/a', 'env:OPS', 'https://two.example/b'] };
    const { targets, secrets } = asked({ user });
    expect(Object.keys(secrets)).toEqual(['address', 'OPS', 'address-2']);
    expect(secretsAgain(targets, user, env)).toEqual({ secrets, notes: [] });
  });

  it('is nowhere with --notify none', () => {
    const none = { notify: ['none'] };
    expect(asked({ user: { notify: ['desktop'] }, merged: none, flags: none }).targets).toEqual([]);
  });

  it('refuses a variable of --notify that has no address, and only notes one of a file', () => {
    for (const name of ['EMPTY', 'WORD', 'MISSING']) {
      const settings = { notify: [`env:${name}`] };
      expect(() => asked({ merged: settings, flags: settings })).toThrow(
        new RegExp(`^--notify env:${name}: `),
      );
      expect(asked({ merged: settings }).notes).toEqual([expect.stringMatching(/^no notices to /)]);
    }
    const settings = { notify: ['env:WORD'] };
    expect(() => asked({ merged: settings, flags: settings })).not.toThrow(/not-an-address/);
  });

  it('refuses addresses and keys outside of the own settings, without repeating them', () => {
    for (const notify of [['https://hooks.slack.com/x'], [{ to: 'env:OPS', key: 'plain' }], ['ftp://x']])
      expect(() => asked({ merged: { notify } })).toThrow(/^(?!.*(?:slack|plain|ftp)).*docs\/notices\.md/);
    expect(secretPlaceIn({ notify: ['desktop', 'https://x.example/'] })).toBe('notify[1]');
    expect(secretPlaceIn({ notify: [{ to: 'env:A', key: 'plain' }] })).toBe('notify[0].key');
    expect(secretPlaceIn({ notify: ['env:A', { to: 'env:B', key: 'env:C' }] })).toBeNull();
  });

  it('is shown without addresses and keys', () => {
    const shown = withoutAddresses(['https://x.example/', { to: 'env:A', key: 'plain' }, 'desktop']);
    expect(shown).toEqual(['<redacted>', { to: 'env:A', key: '<redacted>' }, 'desktop']);
  });
});
