import { list, record, text, textOrNull, type Json } from './json.ts';
import { cut } from '../loop/excerpt.ts';
import type { TodoItem } from './agent.ts';

/** Summarizes the input of a tool in one line, by the most telling field for this kind of tool. */
export function summarize(tool: string, input: unknown): string {
  const given = record(input);
  const { fields, maxLength } = SUMMARIES.find(({ tools }) => tools.test(tool)) ?? ANY;
  const found = fields.map((field) => textOrNull(given[field])).find((value) => value !== null);
  const line = (found ?? paths(given) ?? '').split('\n', 1)[0] ?? '';
  return maxLength === null ? line : cut(line, maxLength);
}

interface Summary {
  readonly tools: RegExp;
  readonly fields: readonly string[];
  readonly maxLength: number | null;
}

const FILE = ['file_path', 'filePath', 'path', 'absolute_path', 'notebook_path'];

const SUMMARIES: readonly Summary[] = [
  {
    tools:
      /^(?:read|write|edit|multiedit|notebookedit|create|replace|view|(?:read|write|edit|create|undo_edit).?(?:file)?)$/i,
    fields: FILE,
    maxLength: null,
  },
  {
    tools: /^(?:bash|shell|run_command|run_shell_command|powershell)$/i,
    fields: ['command', 'cmd', 'description'],
    maxLength: 60,
  },
  {
    tools: /^(?:glob|grep|search|search_file_content|finder)$/i,
    fields: ['pattern', 'query'],
    maxLength: 40,
  },
  { tools: /^(?:task|agent)$/i, fields: ['description', 'prompt'], maxLength: 40 },
  { tools: /^web|fetch/i, fields: ['url', 'query'], maxLength: 50 },
];

const ANY: Summary = {
  tools: /^/,
  fields: ['command', 'cmd', ...FILE, 'pattern', 'query', 'url', 'description', 'title', 'name'],
  maxLength: 60,
};

/** The changed files, if the input lists them. */
function paths(input: Json): string | null {
  const files = list(input['changes']).map((change) => text(record(change)['path']));
  return files.length === 0 ? null : files.join(', ');
}

/** Whether the tool writes a to-do list. */
export function isTodoTool(tool: string): boolean {
  return /^(?:todo_?write|write_todos|update_todo|update_plan)$/i.test(tool);
}

/** The items of a to-do list in a tool's input, in any of the known formats. */
export function todosIn(input: unknown): readonly TodoItem[] {
  const given = record(input);
  const items =
    [given['todos'], given['items'], given['plan']].map(list).find((found) => found.length > 0) ?? [];
  return items.map((item) => {
    const entry = record(item);
    const texts = ['content', 'subject', 'description', 'text', 'step', 'title'].map((key) =>
      textOrNull(entry[key]),
    );
    return {
      text: texts.find((found) => found !== null) ?? '',
      status: statusOf(entry['completed'] === true ? 'completed' : text(entry['status'])),
      priority: textOrNull(entry['priority']),
    };
  });
}

export function statusOf(word: string): TodoItem['status'] {
  if (/^(?:completed|done|cancelled)$/i.test(word)) return 'done';
  return /^(?:in[-_ ]?progress|active|doing)$/i.test(word) ? 'active' : 'pending';
}
