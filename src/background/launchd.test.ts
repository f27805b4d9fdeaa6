import { expect, it } from 'vitest';
import { launchd, plistText } from './launchd.ts';

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
  expect(file).toBe('/Users/me/Library/LaunchAgents/ralph-loop.daemon.plist');
  const domain = `gui/${process.getuid?.() ?? 0}`;
  expect(start).toEqual([['launchctl', 'bootstrap', domain, file]]);
  expect(stop).toEqual([['launchctl', 'bootout', `${domain}/ralph-loop.daemon`]]);
});
