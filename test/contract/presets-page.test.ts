import { expect, it } from 'vitest';
import { presets } from '../../src/loop/presets.ts';

it('docs/presets.md lists every value of every preset', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/presets.md');
});

/** All presets side by side, one row per policy value. */
function page(): string {
  const columns = Object.values(presets).map((preset) =>
    flatten('', { iterations: preset.iterations, emptyPrompts: preset.emptyPrompts, ...preset.policy }),
  );
  const rows = [...new Set(columns.flatMap((column) => [...column.keys()]))].filter(
    (row) => row !== 'preset',
  );
  const [reference] = columns;
  return [
    '<!-- Made by `npm run docs` from src/loop/presets.ts. Do not edit. -->',
    '',
    '# The presets',
    '',
    'A preset is a fixed set of policy values: data, not code. Options and settings override single values. Values that',
    'differ from the default preset are **bold**; `–` means none. With checks, `completion.until` defaults to `both`, or to',
    '`checks` if the preset has no detector. `ralph loop` is the preset `architect` with `checks.baseline` true by default.',
    '',
    ...Object.entries(presets).map(([name, { summary }]) => `- \`${name}\`: ${summary}`),
    '',
    `| | ${Object.keys(presets).join(' | ')} |`,
    `| --- |${' --- |'.repeat(columns.length)}`,
    ...rows.map((row) => {
      const cells = columns.map((column) => {
        const value = column.get(row) ?? '';
        return value === reference?.get(row) || value === '' ? value : `**${value}**`;
      });
      return `| ${row} | ${cells.join(' | ')} |`;
    }),
    '',
  ].join('\n');
}

function flatten(path: string, value: unknown): ReadonlyMap<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || 'kind' in value)
    return new Map([[path, show(path, value)]]);
  return new Map(
    Object.entries(value).flatMap(([key, part]) => [...flatten(path === '' ? key : `${path}.${key}`, part)]),
  );
}

function show(path: string, value: unknown): string {
  if (value === null) return '–';
  if (Array.isArray(value))
    return value.length === 0 ? '–' : value.map((part) => show(path, part)).join(', ');
  if (typeof value === 'number' && path.endsWith('Ms')) return duration(value);
  if (typeof value === 'string')
    return path.endsWith('continuation') ? 'a template' : value === '' ? '–' : value.replaceAll('\n', '⏎');
  if (typeof value !== 'object') return JSON.stringify(value);
  const [[, kind] = [], ...rest] = Object.entries(value);
  const parts = rest.map(([key, part]) => `${key} ${show(key === 'ms' ? 'Ms' : key, part)}`);
  return `${String(kind)} (${parts.join(', ')})`;
}

function duration(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000} h`;
  if (ms % 60_000 === 0 && ms > 0) return `${ms / 60_000} min`;
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
