import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { isRecord } from '../../loop/shape.ts';

const FILE = new URL('../../../dist/plugins/opencode/ralph.js', import.meta.url);

interface Plugin {
  readonly id: unknown;
  readonly server: (input: object) => Promise<unknown>;
}

function isPlugin(value: unknown): value is Plugin {
  return isRecord(value) && typeof value['server'] === 'function';
}

describe('the built plugin of opencode', () => {
  it('has one export, the shape that opencode loads, and hooks for its commands and events', async () => {
    const module: unknown = await import(FILE.href);
    if (!isRecord(module)) throw new Error('it is not a module');
    expect(Object.keys(module)).toEqual(['default']);
    const plugin: unknown = module['default'];
    if (!isPlugin(plugin)) throw new Error('it has no server()');
    expect(Object.keys(plugin)).toEqual(['id', 'server']);
    expect(plugin.id).toBe('ralph');
    const hooks: unknown = await plugin.server({ client: {}, directory: tmpdir() });
    expect(Object.keys(hooks ?? {})).toEqual(['config', 'event', 'command.execute.before']);
  });

  it('imports nothing but modules of Node, and has the place for the command of Ralph once', () => {
    const text = readFileSync(FILE, 'utf8');
    const imported = [...text.matchAll(/^import .* from "([^"]+)";$/gm)].map(([, name]) => name);
    expect(imported.length).toBeGreaterThan(0);
    expect(imported.filter((name) => name?.startsWith('node:') !== true)).toEqual([]);
    expect(text).not.toMatch(/\bimport\(|\brequire\(/);
    expect(text.split('const RALPH_COMMAND = null;')).toHaveLength(2);
  });
});
