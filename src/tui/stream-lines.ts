/** The last lines of what an agent says and does, in bounded memory. */
import type { AgentEvent } from '../loops/loops.ts';
import { AgentLines } from '../text/agent-lines.ts';
import { TerminalSanitizer } from '../text/terminal-stream.ts';

export class StreamLines {
  readonly #agent: AgentLines;
  readonly #sanitizer = new TerminalSanitizer(false);
  #lines: Line[] = [];
  /** The last line, which goes on. */
  #open: Line = EMPTY;

  constructor() {
    this.#agent = new AgentLines(
      { emoji: false, timestamps: false, maxLines: 20, maxChars: 400, verbose: false, paint: plain },
      () => Date.now(),
    );
  }

  add(event: AgentEvent): void {
    const isDetail = event.type === 'tool.end' && event.ok;
    const text = this.#sanitizer.read(this.#agent.all(event)).replaceAll('\t', '  ');
    const [first = '', ...others] = text.split('\n');
    this.#open =
      this.#open.text === ''
        ? { text: cut(first), isDetail }
        : { ...this.#open, text: cut(this.#open.text + first) };
    for (const line of others) {
      this.#push(this.#open);
      this.#open = { text: cut(line), isDetail };
    }
  }

  /** Without the outputs of tools, if they are folded. */
  lines(isFolded: boolean): readonly string[] {
    const all = this.#open.text === '' ? this.#lines : [...this.#lines, this.#open];
    return all.flatMap(({ text, isDetail }) => (isFolded && isDetail ? [] : [text]));
  }

  #push(line: Line): void {
    this.#lines.push(line);
    if (this.#lines.length >= 2 * MOST_LINES) this.#lines = this.#lines.slice(-MOST_LINES);
  }
}

function plain(_: unknown, text: string): string {
  return text;
}

interface Line {
  readonly text: string;
  readonly isDetail: boolean;
}

const EMPTY: Line = { text: '', isDetail: false };

/** A line of 10 MB would fill the memory. */
function cut(line: string): string {
  return line.length > MOST_CHARS ? `${line.slice(0, MOST_CHARS)}…` : line;
}

const MOST_LINES = 2000;
const MOST_CHARS = 4000;
