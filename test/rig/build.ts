import { execFileSync } from 'node:child_process';

/** Tests of the command run the built one. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
}
