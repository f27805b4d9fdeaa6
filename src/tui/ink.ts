/**
 * The only file that knows ink and React. It is a bundle of its own: ink loads with a top-level `await`, which the command's CommonJS
 * files cannot have. Ink lays the lines out and writes those that have changed; keys, signals and the screen are the canvas's.
 */
import { Box, render, Text } from 'ink';
import { createElement, memo, type FunctionComponent, type ReactNode } from 'react';

/** What is drawn on, for one size of it. */
export interface Surface {
  readonly columns: number;
  readonly rows: number;
  readonly write: (text: string) => void;
}

export interface Drawing {
  /** Draws these lines in place of the ones before. */
  draw(lines: readonly string[]): void;
  /** Nothing is written any more. */
  end(): void;
}

export function startDrawing({ columns, rows, write }: Surface, options: DrawingOptions): Drawing {
  let hasEnded = false;
  const stdout = {
    isTTY: true,
    columns,
    rows,
    on: ignore,
    off: ignore,
    write: (text: string): boolean => {
      if (!hasEnded) write(text);
      return true;
    },
  };
  const instance = render(createElement(Frame, { lines: [] }), {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that ink uses of a stream
    stdout: stdout as unknown as NodeJS.WriteStream,
    maxFps: options.framesPerSecond,
    incrementalRendering: true,
    isScreenReaderEnabled: options.isForScreenReader,
    exitOnCtrlC: false,
    patchConsole: false,
  });
  return {
    draw: (lines) => instance.rerender(createElement(Frame, { lines })),
    end: () => {
      hasEnded = true;
      instance.unmount();
    },
  };
}

interface DrawingOptions {
  readonly framesPerSecond: number;
  readonly isForScreenReader: boolean;
}

function ignore(): void {}

interface FrameProps {
  readonly lines: readonly string[];
}

/** A line has no identity besides its place. */
const Frame: FunctionComponent<FrameProps> = ({ lines }) =>
  createElement(
    Box,
    { flexDirection: 'column' },
    lines.map((text, index): ReactNode => createElement(Line, { key: index, text })),
  );

/** An empty line has no height in ink. */
const Line: FunctionComponent<{ readonly text: string }> = memo(({ text }) =>
  createElement(Text, { wrap: 'truncate-end' }, text === '' ? ' ' : text),
);
