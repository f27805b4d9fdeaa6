// The hook that a host program calls after every turn of a session, with a loop in the session and without one.
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, scratch } from './measure.mjs';

export function session() {
  // First: while no session has a loop.
  const box = scratch();
  const { asked } = medians(15, { asked: () => box.hook({}, 'stop').ms });
  const turn = sessionWithLoop(box, 'plain');
  const all = medians(15, { bare: () => box.time(process.execPath, ['-e', '0']).ms, turn });
  box.time('git', ['init', '-q']);
  const recorded = sessionWithLoop(box, 'recorded');
  const inGit = medians(9, { bare: () => box.time(process.execPath, ['-e', '0']).ms, recorded });
  box.done();
  const more = inGit.recorded - inGit.bare - (all.turn - all.bare);
  return [
    hookRow(
      `a Stop hook while the session has a loop, without checks; ${more.toFixed(0)} ms more in a git repository`,
      all,
    ),
    ...withCertificates(),
    {
      what: 'a Stop hook while no session has a loop',
      ours: `${asked.toFixed(1)} ms`,
      against: '',
      value: asked,
      limit: 20,
      unit: 'ms',
    },
  ];
}

/** Companies set this variable for all programs; a hook starts without it. */
function withCertificates() {
  const { NODE_EXTRA_CA_CERTS } = process.env;
  if (NODE_EXTRA_CA_CERTS === undefined) return [];
  const box = scratch({ NODE_EXTRA_CA_CERTS });
  const turn = sessionWithLoop(box, 'plain');
  const all = medians(15, { bare: () => box.time(process.execPath, ['-e', '0']).ms, turn });
  box.done();
  return [hookRow('the same where NODE_EXTRA_CA_CERTS names all certificates of the system', all)];
}

function hookRow(what, { turn, bare }) {
  return {
    what,
    ours: `${turn.toFixed(0)} ms`,
    against: `${bare.toFixed(0)} ms, \`node -e 0\``,
    ratio: turn / bare,
    limit: 1.5,
  };
}

/** Starts a loop in a session; returns a function that ends one turn and measures the hook. */
function sessionWithLoop(box, id) {
  const event = { session_id: id, transcript_path: join(box.root, `${id}.jsonl`), cwd: box.workspace };
  const start = {
    ...event,
    hook_event_name: 'UserPromptExpansion',
    command_name: 'ralph',
    command_args: '"Fix it" --max-iterations=1000',
  };
  box.hook(start, 'start');
  let turns = 0;
  const turn = () => {
    const text = `still at it: ${++turns}`;
    appendFileSync(event.transcript_path, transcriptOf(text, turns));
    const stop = { ...event, hook_event_name: 'Stop', last_assistant_message: text };
    const { ms, stdout, stderr } = box.hook(stop, 'stop');
    // A session that is let go would look like a fast one.
    if (!stdout.includes('"decision":"block"'))
      throw new Error(`the loop does not continue: ${stdout}${stderr}`);
    return ms;
  };
  // The first calls fill the caches of the operating system.
  for (let call = 0; call < 4; call++) turn();
  return turn;
}

/** A turn of Claude Code with a tool call and the usage of tokens. */
function transcriptOf(text, number) {
  return [
    { type: 'user', message: { role: 'user', content: 'go on' } },
    answer(`call-${number}`, { type: 'tool_use', id: `tool-${number}`, name: 'Bash', input: {} }),
    answer(`text-${number}`, { type: 'text', text }),
  ]
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join('');
}

function answer(id, block) {
  const usage = { input_tokens: 1000, output_tokens: 100 };
  return { type: 'assistant', message: { id, model: 'claude-sonnet-4-5', content: [block], usage } };
}
