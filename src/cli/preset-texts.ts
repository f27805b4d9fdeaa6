/** The texts that a founding document prescribes, for the preset of that document only; the others use plain ones. */
import type { PresetName } from '../loop/policy.ts';

export function textsOf(preset: PresetName): Texts {
  return { ...PLAIN, ...PRESCRIBED[preset] };
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

const PLAIN: Texts = {
  paused: (name) => `paused loop ${name}; a running iteration finishes first`,
  resumed: (name) => `resumed loop ${name}`,
  alreadyPaused: (name) => `loop ${name} is already paused`,
  notPaused: (name) => `loop ${name} is not paused`,
  signal: (signal) => [`received ${signal}, finishing the running step (press Ctrl-C again to stop it now)`],
  waitingForPerson: 'the agent asked to wait for a person',
  checkCommand: (command) => `Running check: ${command}`,
  checkExit: (code, seconds) => `Check exited with code ${code ?? 'unknown'} (${seconds})`,
};

const PRESCRIBED: Readonly<Partial<Record<PresetName, Partial<Texts>>>> = {
  conductor: { waitingForPerson: 'Wait-without-restart signal detected' },
  'ralph-cli': {
    signal: () => [
      'Received signal, shutting down...',
      'the running step finishes first; press Ctrl-C again to stop it now',
    ],
    checkCommand: (command) => `Running guardrail: ${command}`,
    checkExit: (code, seconds) => `Guardrail exited with code ${code ?? 'unknown'} (${seconds})`,
  },
  swarm: {
    paused: (name) => `paused ralph loop for ${name}`,
    resumed: (name) => `resumed ralph loop for ${name}`,
    alreadyPaused: (name) => `worker '${name}' is already paused`,
    notPaused: (name) => `worker '${name}' is not paused`,
  },
};
