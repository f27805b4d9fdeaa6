import { list, record, text, textOrNull, type Json } from './json.ts';
import { cut } from '../loop/excerpt.ts';
import type { TodoItem } from './agent.ts';

/** What a tool is used on, in one line: the field that says most, by what the tool is for. */
export function summarize(tool: string, input: unknown): string {
  const given = record(input);
  const { fields, longest } = SUMMARIES.find(({ tools }) => tools.test(tool)) ?? ANY;
  const found = fields.map((field) => textOrNull(given[field])).find((value) => value !== null);
  const line = (found ?? paths(given) ?? '').split('\n', 1)[0] ?? '';
  return longest === null ? line : cut(line, longest);
}

interface Summary {
  readonly tools: RegExp;
  readonly fields: readonly string[];
  readonly longest: number | null;
}

const FILE = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path'];

const SUMMARIES: readonly Summary[] = [
  {
    tools:
      /^(?:read|write|edit|multiedit|notebookedit|create|replace|view|(?:read|write|edit|create|undo_edit).?(?:file)?)$/i,
    fields: FILE,
    longest: null,
  },
  {
    tools: /^(?:bash|shell|run_command|run_shell_command|powershell)$/i,
    fields: ['command', 'cmd', 'description'],
    longest: 60,
  },
  { tools: /^(?:glob|grep|search|search_file_content|finder)$/i, fields: ['pattern', 'query'], longest: 40 },
  { tools: /^(?:task|agent)$/i, fields: ['description', 'prompt'], longest: 40 },
  { tools: /^web|fetch/i, fields: ['url', 'query'], longest: 50 },
];

const ANY: Summary = {
  tools: /^/,
  fields: ['command', 'cmd', ...FILE, 'pattern', 'query', 'url', 'description', 'title', 'name'],
  longest: 60,
};

/** Changed files, as some list them. */
function paths(input: Json): string | null {
  const files = list(input['changes']).map((change) => text(record(change)['path']));
  return files.length === 0 ? null : files.join(', ');
}

/** The tools that write a list of tasks. */
export function isTodoTool(tool: string): boolean {
  return /^(?:todo_?write|write_todos|update_todo|update_plan)$/i.test(tool);
}

/** The tasks in a tool's input, however they are spelled. */
export function todosIn(input: unknown): readonly TodoItem[] {
  const given = record(input);
  const items =
    [given['todos'], given['items'], given['plan']].map(list).find((found) => found.length > 0) ?? [];
  return items.map((item) => {
    const one = record(item);
    const words = ['content', 'subject', 'description', 'text', 'step', 'title'].map((key) =>
      textOrNull(one[key]),
    );
    return {
      text: words.find((word) => word !== null) ?? '',
      status: statusOf(one['completed'] === true ? 'completed' : text(one['status'])),
      priority: textOrNull(one['priority']),
    };
  });
}

export function statusOf(word: string): TodoItem['status'] {
  if (/^(?:completed|done|cancelled)$/i.test(word)) return 'done';
  return /^(?:in[-_ ]?progress|active|doing)$/i.test(word) ? 'active' : 'pending';
}
