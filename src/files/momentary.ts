/**
 * Values that are remembered for one turn of the event loop at most: facts about files that one piece of work asks for many times, and
 * that may have been read at its beginning just as well.
 */
export class Momentary<Value> {
  readonly #values = new Map<string, Value>();

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): Value {
    if (this.#values.size === 0) setImmediate(() => this.#values.clear());
    this.#values.set(key, value);
    return value;
  }
}
