import { execFileSync } from 'node:child_process';

/** Tests that start real programs start the built ones. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
