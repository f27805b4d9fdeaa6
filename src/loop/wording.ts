/**
 * The texts that the documents prescribe, by preset. They stand apart from the presets, so that a journal of a version
 * without them can be completed without loading every preset.
 */
import type { PresetName, WordingPolicy } from './policy.ts';

const OURS: WordingPolicy = {
  iterationLimitReason: null,
  iterationLimitLine: null,
  fatalRunLine: null,
  failedRunLine: null,
  transientRunLine: null,
  timedOutRunLines: [],
  okRunLine: null,
  restartLines: [],
  restartAfterTimeoutLines: [],
  datedStamps: false,
  waitLine: null,
  signalLine: null,
  pauseLine: null,
  resumeLine: null,
  alreadyPausedLine: null,
  notPausedLine: null,
  exitedLine: null,
  checkStartLine: null,
  checkExitLine: null,
  runEndWord: null,
  showFailAction: false,
  showStopReason: false,
};

export const wordings: Readonly<Record<PresetName, WordingPolicy>> = {
  default: OURS,
  conductor: {
    ...OURS,
    iterationLimitReason: 'max restarts exceeded',
    iterationLimitLine: 'Attempt {iterations}: Max restarts exceeded, stopping',
    fatalRunLine: 'Fatal error: {reason}',
    failedRunLine: 'WARNING: agent failed on restart #{restart}: {reason}',
    transientRunLine: 'Transient error: {reason}',
    timedOutRunLines: [
      'Agent timeout after {limit}, killing process group',
      'Process group killed, treating as failure',
    ],
    okRunLine: 'Attempt {attempt}: Agent succeeded',
    restartLines: [
      'Attempt {attempt}: Agent failed (exit {code}), restarting...',
      'Agent failed with exit code {code}, restarting (attempt {next})',
    ],
    restartAfterTimeoutLines: ['Restarting agent (attempt {next})'],
    datedStamps: true,
    waitLine: 'Wait-without-restart signal detected',
  },
  'ralph-cli': {
    ...OURS,
    iterationLimitReason: 'Maximum iterations reached without completion response.',
    signalLine: 'Received signal, shutting down...',
    checkStartLine: 'Running guardrail: {command}',
    checkExitLine: 'Guardrail exited with code {code} ({seconds})',
    runEndWord: 'Complete',
    showFailAction: true,
  },
  architect: { ...OURS, showStopReason: true },
  swarm: {
    ...OURS,
    iterationLimitLine: 'loop complete after {iterations} iterations',
    pauseLine: 'paused ralph loop for {name}',
    resumeLine: 'resumed ralph loop for {name}',
    alreadyPausedLine: "worker '{name}' is already paused",
    notPausedLine: "worker '{name}' is not paused",
    exitedLine: '{name}: exited',
  },
  promise: OURS,
};
