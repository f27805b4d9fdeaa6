export function folderEdges(): Map<string, Map<string, number>>;
export function layers(edges?: Map<string, Map<string, number>>): string[];
export function problems(): string[];
export function folderTable(): string;
