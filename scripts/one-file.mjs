import { readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Gives a file the exports of its entry, which only imports it, and the bundler's helpers: each would be one more file to load. What
 * is added stands at the end, so that the source map stays right.
 *
 * The other files of the bundle, which are returned, ask for what they import from it. Until then it exports nothing else: each export is a function, which
 * takes V8 as long to load as a function that is called.
 */
export function asOneFile(entry, file, files) {
  const [facade, path] = [`dist/cli/${entry}.js`, `dist/cli/${file}.js`];
  const names = [...readFileSync(facade, 'utf8').matchAll(/exports\.(\w+)=\w+\.([\w$]+)/g)];
  if (names.length === 0) throw new Error(`${facade} exports nothing of ${path}`);
  const added = [];
  const locals = new Map();
  const code = readFileSync(path, 'utf8')
    .replaceAll(EXPORT, (_, name, local) => {
      locals.set(name, local);
      return '0';
    })
    .replace(/require\("\.\/([\w-]*rolldown-runtime\.js)"\)/, (call, helpers) => {
      const text = readFileSync(`dist/cli/${helpers}`, 'utf8');
      added.push(`function helpers(){const exports={};${text};return exports}`);
      return 'helpers()'.padEnd(call.length);
    });
  const shared = [...locals].map(
    ([name, local]) => `${JSON.stringify(name)}:{enumerable:!0,get:()=>${local}}`,
  );
  added.push(
    `exports.shared=()=>{exports.shared=()=>exports;return Object.defineProperties(exports,{${shared.join()}})};`,
  );
  for (const [, name, short] of names) {
    if (!locals.has(short)) throw new Error(`${path} does not export ${name}`);
    added.push(`exports.${name}=${locals.get(short)};`);
  }
  writeFileSync(path, `${code}\n${added.join('\n')}\n`);
  rmSync(facade);
  const others = files.filter((name) => name !== `${entry}.js`);
  // Functions that load the file late ask for one export of it.
  const imports = new RegExp(String.raw`require\("\./${file}\.js"\)(?!\[)`, 'g');
  for (const other of others.filter((name) => name !== `${file}.js`)) {
    const text = readFileSync(`dist/cli/${other}`, 'utf8');
    writeFileSync(`dist/cli/${other}`, text.replaceAll(imports, '$&.shared()'));
  }
  return others;
}

const EXPORT =
  /Object\.defineProperty\(exports,"([\w$]+)",\{enumerable:!0,get:function\(\)\{return ([\w$]+)\}\}\)/g;
