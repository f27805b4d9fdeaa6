import type { Detector } from '../../src/loop/completion.ts';
import { startScan as start, type Scanner } from '../../src/loop/scan.ts';
import { searchInTime } from '../../src/owner/pattern-search.ts';

export type { Piece, PieceSource, Scanner } from '../../src/loop/scan.ts';
export { searchInTime };

/** A scanner that runs patterns as an owner does. */
export const startScan = (detectors: readonly Detector[]): Scanner => start(detectors, searchInTime);
