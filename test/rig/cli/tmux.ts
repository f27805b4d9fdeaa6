import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

/** The tmux server of a state folder, found without the product's code. */
export class RiggedTmux {
  readonly socket: string;

  constructor(state: string) {
    this.socket = `ralph-${createHash('sha256').update(state).digest('hex').slice(0, 8)}`;
  }

  /** What a command of tmux prints; empty if there is no server. */
  ask(...args: readonly string[]): string {
    const env = { PATH: process.env['PATH'] ?? '', LC_ALL: 'C.UTF-8' };
    const options = { encoding: 'utf8', env, timeout: 20_000 } as const;
    return spawnSync('tmux', ['-u', '-L', this.socket, ...args], options).stdout;
  }

  /** The names of the windows. */
  get windows(): readonly string[] {
    const listed = this.ask('list-windows', '-t', '=ralph', '-F', '#{window_name}');
    return listed.split('\n').filter((line) => line !== '');
  }

  /** What a window shows, and what has scrolled out of it. */
  screen(window: string): string {
    return this.ask('capture-pane', '-p', '-J', '-S', '-', '-t', `=ralph:=${window}`);
  }

  /** Waits until a window shows a text. */
  shows(window: string, text: string): Promise<true> {
    const seen = (): string => this.screen(window);
    return until(`${text} in ${window}`, () => (seen().includes(text) ? true : null), { seen });
  }

  get isThere(): boolean {
    return existsSync(this.#path);
  }

  /** Ends it, with everything in its windows. */
  tearDown(): void {
    if (!this.isThere) return;
    this.ask('kill-server');
    rmSync(this.#path, { force: true });
  }

  get #path(): string {
    return join('/tmp', `tmux-${userInfo().uid}`, this.socket);
  }
}
