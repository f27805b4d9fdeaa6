/** Identifies a process after a crash; all fields must match. */
export interface Receipt {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
  readonly pidNamespace: string;
}

export interface StrayProcess {
  readonly pid: number;
  readonly command: string;
}
