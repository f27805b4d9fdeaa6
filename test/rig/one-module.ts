import { dirname, relative } from 'node:path';
import { rolldown } from 'rolldown';
import type { Plugin } from 'vitest/config';

/**
 * Gives Vitest some test files as one module each, with everything that they import from this project. Between modules Vitest replaces
 * every use of an import by a call of a getter, which nearly doubles the time of tests that only compute.
 */
export function asOneModule(files: readonly string[]): Plugin {
  return {
    name: 'as-one-module',
    enforce: 'pre',
    async load(id) {
      if (!files.includes(relative(process.cwd(), id))) return null;
      const bundle = await rolldown({ input: id, platform: 'node', external: /^(?!\.|\/)/ });
      // In the folder of the file, from which the source map names the others.
      const { output } = await bundle.generate({
        dir: dirname(id),
        format: 'esm',
        sourcemap: true,
        codeSplitting: false,
      });
      await bundle.close();
      const [{ code, map, moduleIds }] = output;
      for (const file of moduleIds) this.addWatchFile(file);
      return { code, map };
    },
  };
}
