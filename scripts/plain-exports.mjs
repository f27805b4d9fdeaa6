/**
 * Exports the names of a file as plain values. The bundler writes a getter for each of hundreds, which takes longer than everything
 * else that a file does when it is loaded. A name that gets another value later keeps its getter.
 */
export function withPlainExports() {
  return {
    name: 'with-plain-exports',
    renderChunk: (code) => ({
      code: code.replaceAll(
        /Object\.defineProperty\(exports, ("[^"]+"), \{\s*enumerable: true,\s*get: function \(\) \{\s*return ([\w$]+);\s*\}\s*\}\)/g,
        (getter, exported, name) => (isSetOnce(code, name) ? `exports[${exported}] = ${name}` : getter),
      ),
      map: null,
    }),
  };
}

/** Whether a file only declares a name; false too if another variable of this name has a value. */
function isSetOnce(code, name) {
  const escaped = name.replaceAll('$', String.raw`\$`);
  const after = String.raw`(?<![\w$.])${escaped}\s*(?:[-+*/%&|^?]{0,3}=(?![=>])|\+\+|--)`;
  const before = String.raw`(?:\+\+|--)${escaped}(?![\w$])`;
  return [...code.matchAll(new RegExp(`${after}|${before}`, 'g'))].length <= 1;
}
