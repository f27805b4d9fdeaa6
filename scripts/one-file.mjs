import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Gives a file the exports of its entry, which only imports it, and the bundler's helpers: each would be one more file to load. What
 * is added stands at the end, so that the source map stays right.
 *
 * The other files of the bundle ask for what they import from it. Until then it exports nothing else: each export is a function, which
 * takes V8 as long to load as a function that is called.
 */
export function asOneFile(entry, file, files) {
  const [facade, path] = [`dist/cli/${entry}.js`, `dist/cli/${file}.js`];
  const names = [...readFileSync(facade, 'utf8').matchAll(/exports\.(\w+)=\w+\.([\w$]+)/g)];
  if (names.length === 0) throw new Error(`${facade} exports nothing of ${path}`);
  const added = [];
  const locals = new Map();
  const code = readFileSync(path, 'utf8')
    .replace(EXPORTS, (exports) => {
      for (const [, name, local] of exports.matchAll(new RegExp(EXPORT, 'g'))) locals.set(name, local);
      added.push(
        `exports.shared=()=>{exports.shared=()=>exports;${exports.replace(/[,;]$/, '')};return exports};`,
      );
      return 'void 0;';
    })
    .replace(/require\("\.\/([\w-]*rolldown-runtime\.js)"\)/, (call, helpers) => {
      const text = readFileSync(`dist/cli/${helpers}`, 'utf8');
      added.push(`function helpers(){const exports={};${text};return exports}`);
      return 'helpers()'.padEnd(call.length);
    });
  added.push(...names.map(([, name, short]) => `exports.${name}=${locals.get(short)};`));
  writeFileSync(path, `${code}\n${added.join('\n')}\n`);
  rmSync(facade);
  for (const other of files
    .map((name) => `dist/cli/${name}`)
    .filter((name) => name !== facade && name !== path)) {
    const text = readFileSync(other, 'utf8');
    writeFileSync(
      other,
      text.replaceAll(`require("./${file}.js")`, (call) => `${call}.shared()`),
    );
  }
}

const EXPORT = String.raw`Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)`;
const EXPORTS = new RegExp(`(?:${EXPORT}[,;]?)+`);
