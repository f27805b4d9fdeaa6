/** The name of the package on npm, and of what Ralph installs elsewhere under it. */
export const PACKAGE = 'ralph-until-done';

/** The name until November 2026. What was installed under it is found and replaced. */
export const FORMER = 'ralph-loop';
