import { expect, it } from 'vitest';
import { withoutGitLocation } from './location.ts';

it('removes the variables that point git to another repository', () => {
  expect(
    withoutGitLocation({ GIT_DIR: '/x', GIT_INDEX_FILE: '/y', GIT_AUTHOR_NAME: 'a', PATH: '/bin' }),
  ).toEqual({
    GIT_AUTHOR_NAME: 'a',
    PATH: '/bin',
  });
});
