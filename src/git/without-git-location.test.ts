import { expect, it } from 'vitest';
import { withoutGitLocation } from './without-git-location.ts';

it('nothing of the environment leads git to another place', () => {
  expect(
    withoutGitLocation({ GIT_DIR: '/x', GIT_INDEX_FILE: '/y', GIT_AUTHOR_NAME: 'a', PATH: '/bin' }),
  ).toEqual({
    GIT_AUTHOR_NAME: 'a',
    PATH: '/bin',
  });
});
