/** What `ralph status` and `ralph ls` need for loops about which nothing is remembered: a bundle of its own. */
export { explainError } from './errors.ts';
export { listSource } from './list-source.ts';
export { status } from './status.ts';
export { wakeDaemon } from './wake-daemon.ts';
