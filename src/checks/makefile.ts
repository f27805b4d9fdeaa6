/** The lines that `make` runs for some targets, and the files that the Makefile includes, as far as they are literal. */
export function recipesIn(text: string, targets: readonly string[]): Recipes {
  const rules = new Map<string, Rule>();
  const included: string[] = [];
  let current: readonly Rule[] = [];
  let first: string | null = null;
  for (const line of text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const include = /^-?s?include\s+(.+)$/.exec(line)?.[1];
    const rule = /^([^\t#:=][^:=#]*):{1,2}(?![:=])([^;#]*)(?:;(.*))?/.exec(line);
    if (line.startsWith('\t')) for (const { lines } of current) lines.push(recipeLine(line));
    else if (include !== undefined) included.push(...words(include));
    else if (rule !== null) {
      const names = words(rule[1] ?? '');
      // A target that begins with a dot, such as .PHONY, is not the default.
      first ??= names.find((name) => !name.startsWith('.')) ?? null;
      current = names.map((name) => ruleFor(rules, name));
      for (const one of current) {
        one.needs.push(...words(rule[2] ?? ''));
        if (rule[3] !== undefined) one.lines.push(recipeLine(rule[3]));
      }
    }
  }
  const wanted = targets.length > 0 ? [...targets] : first === null ? [] : [first];
  return { included, lines: linesFor(wanted, rules) };
}

export interface Recipes {
  readonly included: readonly string[];
  readonly lines: readonly string[];
}

interface Rule {
  readonly needs: string[];
  readonly lines: string[];
}

function ruleFor(rules: Map<string, Rule>, name: string): Rule {
  const rule = rules.get(name) ?? { needs: [], lines: [] };
  rules.set(name, rule);
  return rule;
}

/** Of the targets and of everything that they need. A prerequisite without a rule is a file, named like a word of a line. */
function linesFor(wanted: string[], rules: ReadonlyMap<string, Rule>): readonly string[] {
  const lines: string[] = [];
  const seen = new Set<string>();
  for (let name = wanted.pop(); name !== undefined; name = wanted.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const rule = rules.get(name);
    wanted.push(...(rule?.needs ?? []));
    lines.push(...(rule?.lines ?? []));
  }
  return lines;
}

/** Without the marks for silence and ignored errors; `$(MAKE)` calls make. */
function recipeLine(line: string): string {
  return line
    .trim()
    .replace(/^[@+-]+\s*/, '')
    .replaceAll(/\$[({]MAKE[)}]/g, 'make');
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
