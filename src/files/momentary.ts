/**
 * Values that are remembered until the event loop turns: facts about files that one piece of work asks for many times. They are as
 * good as facts that were read at its beginning, because nothing else of this process runs in between.
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
