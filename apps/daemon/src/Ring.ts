/** The last of many things, bounded by their number and their bytes. */
export class Ring<A> {
  readonly #limits: { readonly events: number; readonly bytes: number }
  #items: Array<{ readonly item: A; readonly bytes: number } | undefined> = []
  #first = 0
  #bytes = 0
  /** The last one that had to go. */
  lost: A | undefined

  constructor(limits: { readonly events: number; readonly bytes: number }) {
    this.#limits = limits
  }

  /** Adds one, and drops as many of the oldest as do not fit beside it. */
  push(item: A, bytes: number): void {
    this.#items.push({ item, bytes })
    this.#bytes += bytes
    while (this.#items.length - this.#first > this.#limits.events || this.#bytes > this.#limits.bytes) this.#drop()
    // What is dropped leaves the array in large steps, so that dropping costs nothing.
    if (this.#first > 1024 && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
  }

  #drop(): void {
    const oldest = this.#items[this.#first]!
    this.#items[this.#first++] = undefined
    this.#bytes -= oldest.bytes
    this.lost = oldest.item
  }

  *[Symbol.iterator](): Iterator<A> {
    for (let index = this.#first; index < this.#items.length; index++) yield this.#items[index]!.item
  }
}
