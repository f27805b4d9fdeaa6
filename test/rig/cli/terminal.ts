/**
 * A real terminal to type into: tmux, with a server of its own. A test waits for what is on the screen and never for a
 * while; what is typed too early is not lost either.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

/** A server for all the terminals of a test file. */
export class Terminals {
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'ralph-tmux-'));
  #count = 0;

  constructor() {
    if (spawnSync('tmux', ['-V']).status !== 0)
      throw new Error('these tests type into a terminal: install tmux (apt-get install tmux)');
    // A window that stays: without any the server would end.
    this.tmux('new-session', '-d', '-s', 'base', 'exec sleep 3600');
  }

  /** Runs a command on a new terminal, which stays to be looked at. */
  open(argv: readonly string[], { cwd, env }: Place): Terminal {
    const name = `t${++this.#count}`;
    const end = join(this.#folder, name);
    const given = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    const size = ['-x', '100', '-y', '100'];
    const shell = ['/bin/sh', '-c', WITNESS, end];
    this.tmux('new-session', '-d', '-s', name, ...size, '-c', cwd, ...shell, ...given, ...argv);
    return new Terminal((...args) => this.tmux(...args), name, end);
  }

  close(): void {
    try {
      this.tmux('kill-server');
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-f', '/dev/null', '-S', join(this.#folder, 'server'), ...args], {
      // Nothing of whoever runs the tests: neither their terminal nor their settings.
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#folder, SHELL: '/bin/sh', LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }
}

/**
 * Writes down what the command exits with and how it leaves its terminal. tmux has a status too, but does not always get
 * to know it; and it lets nobody but itself set a PATH, hence the `env`.
 */
const WITNESS = '/usr/bin/env "$@"; { echo "$?"; stty -a; } > "$0.new"; mv "$0.new" "$0"; exec sleep 3600';

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export class Terminal {
  readonly #tmux: (...args: readonly string[]) => string;
  readonly #name: string;
  readonly #end: string;

  constructor(tmux: (...args: readonly string[]) => string, name: string, end: string) {
    this.#tmux = tmux;
    this.#name = name;
    this.#end = end;
  }

  /** All that was printed, with what has scrolled away. */
  get screen(): string {
    return this.#tmux('capture-pane', '-p', '-J', '-S', '-', '-t', this.#name)
      .split('\n')
      .map((line) => line.trimEnd())
      .join('\n')
      .trimEnd();
  }

  /** The same, with its colours. */
  get colours(): string {
    return this.#tmux('capture-pane', '-p', '-e', '-S', '-', '-t', this.#name);
  }

  /** Waits until a text is on the screen, for the `time`-th time. */
  async shows(text: string, time = 1): Promise<void> {
    const isThere = (): true | null => (this.screen.split(text).length > time ? true : null);
    await until(`${JSON.stringify(text)} (${time})`, isThere, { seen: () => this.screen });
  }

  /** Types, letter by letter; `\r` is Enter. */
  types(text: string): void {
    this.#tmux('send-keys', '-t', this.#name, '-l', '--', text);
  }

  /** Presses a key by tmux's name for it: `C-c`, `Left`. */
  presses(...keys: readonly string[]): void {
    this.#tmux('send-keys', '-t', this.#name, ...keys);
  }

  /** Like a window that is closed. */
  goesAway(): void {
    this.#tmux('kill-session', '-t', this.#name);
  }

  /** Waits for the end of the command and tells how it was. */
  async ends(): Promise<End> {
    const look = (): string | null => (existsSync(this.#end) ? readFileSync(this.#end, 'utf8') : null);
    const written = await until('the end of the command', look, { seen: () => this.screen });
    const isCursorVisible =
      this.#tmux('display-message', '-p', '-t', this.#name, '#{cursor_flag}').trim() === '1';
    const isCooked = [/(?<!-)\bicanon\b/, /(?<!-)\becho\b/, /(?<!-)\bisig\b/].every((mode) =>
      mode.test(written),
    );
    return {
      code: Number.parseInt(written, 10),
      terminal: isCursorVisible && isCooked ? 'as before' : 'odd',
    };
  }
}

export interface End {
  readonly code: number;
  /** Whether its user can go on typing: lines are edited and echoed, the cursor is to be seen. */
  readonly terminal: 'as before' | 'odd';
}
