/**
 * A real terminal: tmux with its own server. A test waits for text on the screen, never for a fixed time; keys that are
 * typed early are not lost.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

/** The tmux server of a test file. */
export class Terminals {
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'ralph-tmux-'));
  #count = 0;

  /** Runs a command in a new terminal, which stays open after its end. */
  open(argv: readonly string[], { cwd, env, size: [width, height] = [100, 100] }: Place): Terminal {
    // The server ends without a window, so this one stays.
    if (this.#count === 0) this.tmux('new-session', '-d', '-s', 'base', 'exec sleep 3600');
    const name = `t${++this.#count}`;
    const end = join(this.#folder, name);
    const given = Object.entries(env).map(([key, value]) => `${key}=${value}`);
    const size = ['-x', String(width), '-y', String(height)];
    const shell = ['/bin/sh', '-c', WITNESS, end];
    this.tmux('new-session', '-d', '-s', name, ...size, '-c', cwd, ...shell, ...given, ...argv);
    return new Terminal((...args) => this.tmux(...args), name, end);
  }

  close(): void {
    try {
      if (this.#count > 0) this.tmux('kill-server');
    } finally {
      rmSync(this.#folder, { recursive: true, force: true });
    }
  }

  tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-f', '/dev/null', '-S', join(this.#folder, 'server'), ...args], {
      // Independent of the terminal and settings of the person who runs the tests.
      env: { PATH: process.env['PATH'] ?? '', HOME: this.#folder, SHELL: '/bin/sh', LC_ALL: 'C.UTF-8' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      timeout: 20_000,
    });
  }
}

/**
 * Records the exit code and the terminal modes after the command, also after one that Ctrl-C has ended. tmux sometimes misses the exit code, and it does not
 * pass on a PATH, hence the `env`.
 */
const WITNESS =
  'trap : INT; /usr/bin/env "$@"; { echo "$?"; stty -a; } > "$0.new"; mv "$0.new" "$0"; exec sleep 3600';

interface Place {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Columns and lines. */
  readonly size?: readonly [number, number];
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

  /** Everything printed, including the scrollback. */
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

  /** Waits until a text is on the screen `time` times. */
  async shows(text: string, time = 1): Promise<void> {
    const isThere = (): true | null => (this.screen.split(text).length > time ? true : null);
    await until(`${JSON.stringify(text)} (${time})`, isThere, { seen: () => this.screen });
  }

  /** Types a text; `\r` is Enter. */
  types(text: string): void {
    this.#tmux('send-keys', '-t', this.#name, '-l', '--', text);
  }

  /** Presses a key by tmux's name for it: `C-c`, `Left`. */
  presses(...keys: readonly string[]): void {
    this.#tmux('send-keys', '-t', this.#name, ...keys);
  }

  /** Changes the columns and lines of the terminal. */
  resizes([width, height]: readonly [number, number]): void {
    this.#tmux('resize-window', '-t', this.#name, '-x', String(width), '-y', String(height));
  }

  /** The lines that a person sees now, without the scrollback. */
  get view(): readonly string[] {
    return this.#tmux('capture-pane', '-p', '-t', this.#name).replace(/\n$/, '').split('\n');
  }

  /** Copies what the terminal is sent from now on to a file. */
  copiesTo(file: string): void {
    this.#tmux('pipe-pane', '-t', this.#name, `exec cat >'${file}'`);
  }

  /** Sends a signal to the command. */
  receives(signal: NodeJS.Signals): void {
    const shell = this.#tmux('display-message', '-p', '-t', this.#name, '#{pane_pid}').trim();
    const [pid] = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
      .split('\n')
      .flatMap((line) => (line.trim().split(/\s+/)[1] === shell ? [Number.parseInt(line, 10)] : []));
    if (pid === undefined) throw new Error(`no command runs in ${this.#name}`);
    process.kill(pid, signal);
  }

  /** Closes the terminal window. */
  goesAway(): void {
    this.#tmux('kill-session', '-t', this.#name);
  }

  /** Waits for the end of the command. */
  async ends(): Promise<End> {
    const look = (): string | null => (existsSync(this.#end) ? readFileSync(this.#end, 'utf8') : null);
    const written = await until('the end of the command', look, { seen: () => this.screen });
    // The cursor is shown, and the screen is not the alternate one.
    const isShown =
      this.#tmux('display-message', '-p', '-t', this.#name, '#{cursor_flag} #{alternate_on}').trim() ===
      '1 0';
    const isCooked = [/(?<!-)\bicanon\b/, /(?<!-)\becho\b/, /(?<!-)\bisig\b/].every((mode) =>
      mode.test(written),
    );
    return {
      code: Number.parseInt(written, 10),
      terminal: isShown && isCooked ? 'as before' : 'odd',
    };
  }
}

export interface End {
  readonly code: number;
  /** Whether the terminal is usable again: line editing, echo, a visible cursor and the screen of before. */
  readonly terminal: 'as before' | 'odd';
}
