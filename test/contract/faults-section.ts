/** The section of docs/agents.md about provider faults, made from the recordings. */
import { agentNamed } from '../../src/agents/agents.ts';
import { CUT_OFF } from '../../src/agents/json-lines.ts';
import { remedyFor } from '../../src/agents/remedies.ts';
import { ACCESS_DENIED } from '../../src/agents/trouble.ts';
import { classify } from '../../src/loop/failure.ts';
import type { RunClass } from '../../src/loop/event.ts';
import { presets } from '../../src/loop/presets.ts';
import { listenTo, metaOf, type Listening, type Recorded, type RecordedCase } from '../rig/agent-streams.ts';
import { runWith } from '../rig/run-with.ts';

export function faultsSection(): readonly string[] {
  return [
    '## When the provider fails',
    '',
    'What each CLI did when the fault repeated with every request, and what Ralph makes of it. The number of requests and the',
    'time are those of the CLI with its default settings; Ralph stops a CLI that retries a request which cannot succeed. Amp',
    'and faults that are not listed were not tried.',
    '',
    ...FAULTS.flatMap(({ title, about, name }) => [
      `### ${title}`,
      '',
      ...(about === undefined ? [] : [about, '']),
      '| agent | the CLI | its message | Ralph |',
      '| --- | --- | --- | --- |',
      ...TRIED.map((agent) => row(agent, name)),
      '',
    ]),
    ...MORE,
  ];
}

const TRIED = ['claude', 'codex', 'opencode', 'gemini', 'qwen', 'copilot'] as const;

const FAULTS: readonly { title: string; about?: string; name: string }[] = [
  {
    title: 'An error inside an open stream',
    about: 'The provider reports that it is overloaded after the first half of an answer.',
    name: '07d-overloaded-mid-stream',
  },
  { title: 'A dropped stream', name: '07e-dropped-stream' },
  { title: 'A refused connection', name: '27-connection-refused' },
  {
    title: 'The web page of a captive portal',
    about: 'The network answers with its login page and status 200.',
    name: '25-captive-portal',
  },
  { title: 'A prompt that is too long (400)', name: '13-context-overflow' },
  {
    title: 'A request that is too large (413)',
    about: 'A gateway answers with a web page.',
    name: '13b-request-too-large',
  },
  {
    title: 'A rate limit of two hours (429)',
    about:
      'After a first request that the provider answered. It says in its own way that it accepts the next one in 7200 s.',
    name: '29-rate-limit-of-hours',
  },
  { title: 'An account without credit', name: '28-out-of-credit' },
  { title: 'A proxy that answers with 403', name: '26-proxy-403' },
  {
    title: 'A proxy that refuses the tunnel',
    about: 'The proxy in `HTTPS_PROXY` answers `CONNECT` with 403.',
    name: '26b-proxy-refuses-tunnel',
  },
  { title: 'A 403 of the provider itself', name: '26c-provider-403' },
];

const MORE = [
  'Retries are no activity: an agent that only retries reaches the inactivity timeout. A run that times out while its agent',
  'cannot reach its provider is an outage. Codex does not say why it waits for the network, so a proxy that refuses its',
  'tunnel looks like an outage too; so it does with Gemini CLI and the Copilot CLI.',
  '',
  'opencode waits for a usage limit without a word. Ralph starts it with `--print-logs --log-level ERROR` and reads the limit from',
  'its log, which is in `stderr.log` of the run and not on the screen. If an error or a warning in it names a rate limit, a usage limit',
  'or the status 429, and opencode reaches the inactivity timeout before it works again, the run has hit a usage limit. No line of the',
  'log is activity. `--title` saves the request with which opencode asks for a title and which it does not report; your own',
  '`--title`, `--print-logs` and `--log-level` override these flags, and with your `--print-logs` the log is on the screen.',
  '',
  'A run whose agent starts and then prints nothing up to the inactivity timeout is an outage too: the provider never answered. The',
  'loop ends after five of them in a row, with exit code 1. opencode prints nothing before the first answer, so its silent runs',
  'are failed iterations.',
  '',
];

function row(agent: Recorded, name: string): string {
  const recorded = metaOf(agent).cases[name];
  if (recorded === undefined) return `| \`${agent}\` | not tried | | |`;
  const heard = listenTo(agent, name);
  const cells = [
    `\`${agent}\``,
    behaviour(recorded, name),
    messageOf(agent, heard),
    judgement(heard, recorded),
  ];
  return `| ${cells.join(' | ')} |`;
}

function behaviour({ exitCode, modelRequests, seconds }: RecordedCase, name: string): string {
  // A refused connection never reaches the scripted provider.
  const isCounted = !name.startsWith('26b') && !name.startsWith('27');
  const counted = isCounted ? ` after ${modelRequests} request${modelRequests === 1 ? '' : 's'}` : '';
  const time = seconds === undefined || (isCounted && modelRequests < 2) ? '' : ` ${seconds} s`;
  if (exitCode === null)
    return `does not end by itself (stopped${counted}${time === '' ? '' : `, ${time.trim()}`})`;
  return `exit ${exitCode}${counted}${time === '' ? '' : `, ${time.trim()}`}`;
}

/** What it reported last, without what Ralph adds to it; nothing for empty answers. */
function messageOf(agent: Recorded, { events, reader }: Listening): string {
  if (events.some((event) => event.type === 'retry' && event.isEndless === true)) return '';
  const said = events.flatMap((event) =>
    event.type === 'retry' || (event.type === 'result' && event !== CUT_OFF) ? [event] : [],
  );
  const last = said.findLast(({ error }) => error !== null);
  const { kind = 'other', message = '' } = (reader.isHopeless ? reader.error : last?.error) ?? {};
  const text = message
    .replace(
      /^(?:the connection to the provider is blocked|the provider refuses this request|the provider denies access): /,
      '',
    )
    .replace(`; ${remedyFor(agentNamed(agent), kind, [], { message })}`, '');
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH).trimEnd()}…` : text;
  return short.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;');
}

const MAX_LENGTH = 100;

function judgement({ heard, reader, snapshot }: Listening, { exitCode }: RecordedCase): string {
  const isStopped = exitCode === null && !reader.isHopeless;
  const as = isStopped ? timedOut(snapshot) : heard.as;
  const how = reader.isHopeless ? 'stops the CLI' : isStopped ? 'stops the CLI at a timeout' : '';
  const isDenied = reader.error?.message.startsWith(ACCESS_DENIED) === true;
  return [
    how,
    isDenied ? 'ends the loop: check the permissions of the account or key' : words(as, heard.error),
  ]
    .filter((part) => part !== '')
    .join('; ');
}

function timedOut(output: Listening['snapshot']): RunClass {
  return classify(runWith(output), { how: 'timed-out', which: 'inactivity' }, presets.default.policy);
}

function words(as: RunClass, error: Listening['heard']['error']): string {
  if (as === 'usage-limit') return 'usage limit: waits for the reset';
  if (as === 'outage') return 'outage: waits and retries';
  if (as === 'fatal') return `ends the loop: ${ADVICE[error ?? ''] ?? error}`;
  return error === 'request-refused' ? 'failed iteration: the request is refused' : 'failed iteration';
}

const ADVICE: Readonly<Record<string, string>> = {
  'out-of-credit': 'add credit',
  blocked: 'check the proxy',
  authentication: 'log in',
};
