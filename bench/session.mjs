// How long a session waits for the hook that its host program calls after every turn.
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { medians, NODE, scratch } from './measure.mjs';
import { repositoryOf, SMALL } from './repository.mjs';

export function* session() {
  yield stopHook('outside of a repository', scratch(), 5);
  yield stopHook('in a small repository', repositoryOf(SMALL), 7);
}

function stopHook(place, box, limit) {
  const { bare, turn } = medians(15, { bare: () => box.bareNode(), turn: sessionWithLoop(box) });
  const what = `a Stop hook while the session has a loop, ${place}`;
  return { what, ours: turn, unit: 'ms', bare, baseline: NODE, limit };
}

/** Starts a loop in a session; returns a function that ends one turn and measures the hook. */
function sessionWithLoop(box) {
  const event = { session_id: 'bench', transcript_path: join(box.root, 'bench.jsonl'), cwd: box.workspace };
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
    writeFileSync(join(box.workspace, 'changed'), text);
    const stop = { ...event, hook_event_name: 'Stop', last_assistant_message: text };
    const { ms, stdout, stderr } = box.hook(stop);
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
