import { expect, it } from 'vitest';
import { daemonJob } from './service.ts';

it('the daemon gets PATH without folders that depend on the working directory, and no other variable that is not set', () => {
  expect(daemonJob({ PATH: '/a:./b::/c:/a', API_KEY: 'x' }).env).toEqual({ PATH: '/a:/c' });
  expect(daemonJob({ PATH: '/a', RALPH_STATE: '', XDG_STATE_HOME: '', TZ: '' }).env).toEqual({ PATH: '/a' });
});

it('the daemon gets the place of the state as an absolute path, and the time zone', () => {
  expect(daemonJob({ PATH: '/a', RALPH_STATE: 'state', XDG_STATE_HOME: '/x', TZ: 'UTC' }).env).toEqual({
    PATH: '/a',
    RALPH_STATE: `${process.cwd()}/state`,
    XDG_STATE_HOME: '/x',
    TZ: 'UTC',
  });
});
