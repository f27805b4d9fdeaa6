/** One pane of Ralph's tmux server: starts a program in it, records what it prints, looks at it and pastes into it. */
import { shellQuote } from '../loop/shell-quote.ts';
import { together, type TmuxServer } from './server.ts';

/** Starts a program in a pane, in the place of the one that is in it, and returns its pid. */
export async function startInPane(
  server: TmuxServer,
  pane: string,
  program: {
    readonly argv: readonly string[];
    /** The file that gets everything that the program prints; null for none. */
    readonly log: string | null;
    /** Identifies the program in the pane. */
    readonly tag: string;
  },
): Promise<number> {
  const { argv, log, tag } = program;
  // `-c` would expand `#` in a path, so the program changes to its folder itself. The server reads from it only after all
  // of these, so nothing that it prints is missing in the record.
  const answer = await server.ask(
    together(
      ['respawn-pane', '-k', '-t', pane, '-c', '/', ...escaped(argv)],
      ['set-option', '-p', '-t', pane, '@ralph-run', tag],
      ['pipe-pane', '-t', pane, ...(log === null ? [] : [recordTo(log)])],
      ['display-message', '-p', '-t', pane, '#{pane_pid}'],
    ),
  );
  return Number.parseInt(answer ?? '', 10) || 0;
}

/** The pane that the program with this tag was started in; null if it is gone or has another program now. */
export async function findPane(server: TmuxServer, tag: string): Promise<Pane | null> {
  const listed = await server.ask(['list-panes', '-a', '-F', '#{pane_id}\t#{pane_dead}\t#{@ralph-run}']);
  for (const line of (listed ?? '').split('\n')) {
    const [pane = '', dead, of] = line.split('\t');
    if (of === tag) return { pane, isDead: dead === '1' };
  }
  return null;
}

export interface Pane {
  readonly pane: string;
  readonly isDead: boolean;
}

/** What the pane shows, and the lines that have scrolled out of it; without colours and without the blank rest. */
export async function capturePane(
  server: TmuxServer,
  pane: string,
  scrollback: number,
): Promise<string | null> {
  const text = await server.ask(['capture-pane', '-p', '-J', '-t', pane, '-S', `-${scrollback}`]);
  const lines = text?.split('\n').map((line) => line.trimEnd());
  return lines?.join('\n').trimEnd() ?? null;
}

/**
 * Writes bytes to the program in the pane as a paste: no key binding applies, not even in copy mode. A program that knows
 * bracketed paste gets them between its marks. Does nothing if the program has exited: tmux 3.3 crashes at a paste of
 * bracketed text into a pane without a program, and all other windows would be lost.
 */
export async function pasteInto(
  server: TmuxServer,
  pane: string,
  bytes: Buffer,
  isBracketed: boolean,
): Promise<void> {
  const buffer = `ralph-${pane}`;
  // `-r` keeps line feeds as they are.
  const paste = `paste-buffer -d -r ${isBracketed ? '-p ' : ''}-b ${buffer} -t ${pane}`;
  const pasteIfAlive = ['if-shell', '-F', '-t', pane, '#{pane_dead}', `delete-buffer -b ${buffer}`, paste];
  await server.ask(together(['load-buffer', '-b', buffer, '-'], pasteIfAlive), bytes);
}

/** Stops recording. */
export async function stopRecording(server: TmuxServer, pane: string): Promise<void> {
  await server.ask(['pipe-pane', '-t', pane]);
}

/** A word that ends with `;` would end the command of tmux. */
function escaped(argv: readonly string[]): readonly string[] {
  return argv.map((word) => (word.endsWith(';') ? `${word.slice(0, -1)}\\;` : word));
}

/** A shell command that appends its input to a file. tmux expands `#` and `%` in it, so other paths are spelled in octal. */
function recordTo(file: string): string {
  if (/^[\w@+=:,./ '()-]+$/.test(file)) return `exec cat >>${shellQuote(file)}`;
  const octal = [...Buffer.from(file)].map((byte) => `\\0${byte.toString(8).padStart(3, '0')}`).join('');
  return `exec cat >>"$(printf '%%b' '${octal}')"`;
}
