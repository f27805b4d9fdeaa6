import { writeFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';

export const PRICES = '@pydantic/genai-prices';

/**
 * Moves the price table, which is the beginning of the package, into a file with lines of JSON beside the library: that is read ten
 * times as fast as code. Without what no price depends on. The package begins to work with the first price, so it can be part of a file
 * that is loaded for other reasons.
 */
export function withPriceTable(folder) {
  return {
    name: 'with-price-table',
    transform: (code, id) => {
      if (!id.includes(PRICES)) return null;
      const [beginning, table] = /^const E = (\[\n[^]*?^\])/m.exec(code);
      const providers = runInNewContext(`(${table})`);
      // `prices.ts` names a model and no provider: the others are not looked at.
      const fallbacks = new Set(providers.flatMap((provider) => provider.fallback_model_providers ?? []));
      const used = providers.filter(({ id: name, model_match }) => model_match || fallbacks.has(name));
      const lines = [
        used.map((provider) => ({ ...provider, models: undefined })),
        ...used.map(({ models }) => models),
      ].map((part) => JSON.stringify(part, (key, value) => (WITHOUT_PRICE.has(key) ? undefined : value)));
      writeFileSync(`dist/agents/${PRICE_TABLE}`, `${lines.join('\n')}\n`);
      const read = `readFileSync(import.meta.dirname + '/${folder}/${PRICE_TABLE}', 'utf8').split('\\n')`;
      const rest = code
        .slice(beginning.length)
        // Any order of its keys will do, and the first comparison of texts in a language takes 8 ms.
        .replaceAll(/([\w.]+)\.localeCompare\(([\w.]+)\)/g, '($1 < $2 ? -1 : $1 > $2 ? 1 : 0)')
        // It compares every unit with every other when it is loaded, which takes 5 ms with a list for each comparison.
        .replace(
          'return Object.entries(e.dimensions).every(([a, i]) => t.dimensions[a] === i);',
          'for (const a in e.dimensions) if (t.dimensions[a] !== e.dimensions[a]) return false; return true;',
        )
        // Most of these lists are never asked for, so they are made when they are.
        .replace(/(this\.#o\.set\(\s*a,\s*)(new Set\(\s*\[[^;]*?usageKey\)\s*\))(\s*\))/, '$1i$3')
        .replace(
          'return new Set(a);',
          'return new Set([...this.#e.values()].filter((o) => o !== a && $(o, a)).map((o) => o.usageKey));',
        );
      const [exports, name] = /^export \{[^]*?(\w+) as calcPrice[^]*?\};/m.exec(rest);
      return {
        code: `import { readFileSync } from 'node:fs';
let known;
export const calcPrice = (...args) => (known ??= load())(...args);
function load() {
const lines = ${read};
const E = ${PROVIDERS}${rest.replace(exports, '')}
return ${name};
}`,
        map: null,
      };
    },
  };
}

const PRICE_TABLE = 'genai-prices.jsonl';
// The models of a provider are a line of their own, which is parsed only if the provider has the model that is looked for.
const PROVIDERS = `JSON.parse(lines[0]).map((provider, at) => {
  let models;
  return Object.defineProperty(provider, 'models', { get: () => (models ??= JSON.parse(lines[at + 1])), enumerable: true });
})`;
const WITHOUT_PRICE = new Set(['extractors', 'pricing_urls', 'description', 'price_comments', 'name']);
