/** The file of a loop's outbox: what was sent to each target, and what could not be. */
import { readJsonFile } from '../files/files.ts';
import { NOTICE_KINDS, type NoticeMemory, type NoticePlace } from '../loop/notice.ts';
import {
  fields,
  fits,
  isRecord,
  nullable,
  oneOf,
  optional,
  shortText,
  string,
  table,
  whole,
} from '../loop/shape.ts';

/** What the file of an outbox says. */
export interface OutboxRecord {
  /** How much of the journal is known to it, in events. */
  readonly through: number;
  /** What `noticesOf` remembers after these. */
  readonly memory: NoticeMemory;
  readonly targets: Readonly<Record<string, TargetRecord>>;
}

export interface TargetRecord {
  /** The last notice that arrived or was given up. */
  readonly sent: NoticePlace | null;
  /** How many were not sent yet. */
  readonly waiting: number;
  /** The last failure; absent once that notice has arrived. */
  readonly problem?: NoticeProblem;
}

export interface NoticeProblem {
  readonly why: string;
  /** Since when. */
  readonly at: number;
  /** The notice that was given up; absent while it is tried again. */
  readonly lost?: string;
}

export function readOutbox(path: string): OutboxRecord | null {
  const value = readJsonFile(path);
  return isRecordOfOutbox(value) ? value : null;
}

function isRecordOfOutbox(value: unknown): value is OutboxRecord {
  return fits(OUTBOX, value) && isRecord(value) && isRecord(value['memory']);
}

const OUTBOX = fields({
  through: whole(0),
  targets: table(
    fields({
      sent: nullable(fields({ number: whole(0), kind: oneOf(NOTICE_KINDS) })),
      waiting: whole(0),
      problem: optional(fields({ why: string, at: whole(0), lost: optional(shortText(1000)) })),
    }),
  ),
});
