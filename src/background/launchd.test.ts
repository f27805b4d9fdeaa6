import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { launchd, plistText } from './launchd.ts';
import { install, uninstall } from './service.ts';

const job = { argv: ['/a & b/node', '/<x>/main.js', 'daemon'], env: { PATH: '/bin:/c&d' } } as const;

it('an agent of launchd has the command, its environment and no process group to end', () => {
  const text = plistText(job);
  const [, list = ''] = /<key>ProgramArguments<\/key>\s*<array>([^]*?)<\/array>/.exec(text) ?? [];
  expect([...list.matchAll(/<string>(.*)<\/string>/g)].map(([, word]) => word)).toEqual([
    '/a &amp; b/node',
    '/&lt;x&gt;/main.js',
    'daemon',
  ]);
  expect(text).toMatch(/<key>PATH<\/key>\s*<string>\/bin:\/c&amp;d<\/string>/);
  expect(text).toMatch(/<key>AbandonProcessGroup<\/key>\s*<true\/>/);
  // Without elements that have no others in them, from the inside out, nothing is left.
  const element = /<([a-z]+)(?: [^>]*)?>[^<]*<\/\1>|<[a-z]+\/>|<[?!][^>]*>/gi;
  let rest = text;
  for (let before = ''; before !== rest;) {
    before = rest;
    rest = rest.replaceAll(element, '');
  }
  expect(rest.trim()).toBe('');
});

it('launchd reads it from Library/LaunchAgents', () => {
  const { file, start, stop } = launchd(job, '/Users/me');
  expect(file).toBe('/Users/me/Library/LaunchAgents/ralph-until-done.daemon.plist');
  const domain = `gui/${process.getuid?.() ?? 0}`;
  expect(start).toEqual([['launchctl', 'bootstrap', domain, file]]);
  expect(stop).toEqual([['launchctl', 'bootout', `${domain}/ralph-until-done.daemon`]]);
});

it('installing and uninstalling the service remove the agent of the former name, which would run a second daemon', async () => {
  const home = mkdtempSync(join(tmpdir(), 'ralph-launchd-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const bin = join(home, 'bin');
  mkdirSync(bin);
  const calls = join(home, 'calls');
  writeFileSync(join(bin, 'launchctl'), `#!/bin/sh\necho "$*" >> ${calls}\n`, { mode: 0o755 });
  const env = { PATH: `${bin}:/usr/bin:/bin`, RALPH_STATE: join(home, 'state') };
  // The daemon that both end first is looked for in the state of this process.
  vi.stubEnv('RALPH_STATE', env.RALPH_STATE);
  onTestFinished(() => void vi.unstubAllEnvs());
  const manager = launchd(job, home);
  const former = join(home, 'Library', 'LaunchAgents', 'ralph-loop.daemon.plist');
  const domain = `gui/${process.getuid?.() ?? 0}`;
  for (const change of [install, uninstall]) {
    mkdirSync(dirname(former), { recursive: true });
    writeFileSync(former, plistText(job));
    writeFileSync(calls, '');
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await change(manager, env);
    expect(existsSync(former)).toBe(false);
    expect(readFileSync(calls, 'utf8')).toContain(`bootout ${domain}/ralph-loop.daemon\n`);
    expect(existsSync(manager.file)).toBe(change === install);
  }
});
