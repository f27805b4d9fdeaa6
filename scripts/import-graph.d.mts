export function problems(imports?: ReadonlyMap<string, readonly string[]>): string[];
export function folderTable(): string;
