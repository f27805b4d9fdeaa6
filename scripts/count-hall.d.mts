export function isFront(path: string): boolean;
export function withCounts(page: string): string;
