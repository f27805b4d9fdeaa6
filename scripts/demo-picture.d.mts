export const COLUMNS: number;
export function demoPicture(recording: string, theme: 'light' | 'dark'): string;
