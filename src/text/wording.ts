import type { WordingPolicy } from '../loop/policy.ts';

/** The texts of a loop: those that the document of its preset prescribes, and our own for the rest. */
export function textsOf(wording: WordingPolicy): Texts {
  return {
    paused: (name) =>
      filled(wording.pauseLine ?? 'pausing loop {name} after the running iteration', { name }),
    resumed: (name) => filled(wording.resumeLine ?? 'resumed loop {name}', { name }),
    alreadyPaused: (name) => filled(wording.alreadyPausedLine ?? 'loop {name} is already paused', { name }),
    notPaused: (name) =>
      filled(wording.notPausedLine ?? 'loop {name} is not paused: it is running', { name }),
    signal: (signal) =>
      wording.signalLine === null
        ? [`received ${signal}, finishing the running step (press Ctrl-C again to stop it now)`]
        : [wording.signalLine, 'the running step finishes first; press Ctrl-C again to stop it now'],
    waitingForPerson: wording.waitLine ?? 'the agent asked to wait for a person',
    checkCommand: (command) => filled(wording.checkStartLine ?? 'Running check: {command}', { command }),
    checkExit: (code, seconds) =>
      filled(wording.checkExitLine ?? 'Check exited with code {code} ({seconds})', {
        code: String(code ?? 'unknown'),
        seconds,
      }),
  };
}

interface Texts {
  readonly paused: (name: string) => string;
  readonly resumed: (name: string) => string;
  readonly alreadyPaused: (name: string) => string;
  readonly notPaused: (name: string) => string;
  /** The first signal, which lets the running step finish. */
  readonly signal: (signal: string) => readonly string[];
  readonly waitingForPerson: string;
  readonly checkCommand: (command: string) => string;
  readonly checkExit: (code: number | null, seconds: string) => string;
}

/** A text with its holes filled: `{name}`. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (hole, name: string) => values[name] ?? hole);
}
