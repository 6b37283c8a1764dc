/** What may come before the text: white space beyond this is not what is meant. */
const OPENING_CHARACTERS_MAX = 256

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])

type State = 'opening' | 'text' | 'escape' | 'closed' | 'verbatim'

/**
 * Reads the text of an object's first member out of JSON that arrives in fragments, `{"name": "text…`: unescaped, as
 * it comes, in constant memory. What turns out to be no such object is given as it is, so that nothing of it is lost;
 * what follows the text is left out.
 */
export class TextMemberReader {
  /** The opening without its white space, and after how many of its characters there may be some. */
  readonly #opening: string
  readonly #gaps: ReadonlySet<number>
  #matched = 0
  #state: State = 'opening'
  /** All of the opening so far; of an escape, what came after the backslash. */
  #held = ''
  /** The first half of a character that two escapes make up. */
  #half = ''

  constructor(name: string) {
    const key = JSON.stringify(name)
    this.#opening = `{${key}:"`
    this.#gaps = new Set([0, 1, 1 + key.length, 2 + key.length])
  }

  /** The text that `fragment` brings. */
  push(fragment: string): string {
    let text = ''
    for (const character of fragment) text += this.#readers[this.#state](character)
    return text
  }

  /** What of the text is left when the JSON has ended, or was broken off. */
  end(): string {
    return this.#state === 'opening' ? this.#held : this.#half
  }

  readonly #readers: Readonly<Record<State, (character: string) => string>> = {
    opening: character => this.#readOpening(character),
    text: character => this.#readText(character),
    escape: character => this.#readEscape(character),
    closed: () => '',
    verbatim: character => character,
  }

  #readOpening(character: string): string {
    this.#held += character
    const isExpected = character === this.#opening[this.#matched]
    const isGap = this.#gaps.has(this.#matched) && /\s/.test(character) && this.#held.length < OPENING_CHARACTERS_MAX
    if (isExpected) this.#matched += 1
    if (isExpected && this.#matched === this.#opening.length) this.#state = 'text'
    if (isExpected || isGap) return ''
    this.#state = 'verbatim'
    return this.#held
  }

  #readText(character: string): string {
    if (character === '\\') {
      this.#state = 'escape'
      this.#held = ''
      return ''
    }
    if (character === '"') this.#state = 'closed'
    return this.#complete(character === '"' ? '' : character)
  }

  #readEscape(character: string): string {
    this.#held += character
    const isUnicode = this.#held.startsWith('u')
    if (isUnicode && this.#held.length < 'uXXXX'.length) return ''
    this.#state = 'text'
    if (!isUnicode) return this.#complete(ESCAPES.get(this.#held) ?? `\\${this.#held}`)
    if (!/^u[0-9a-f]{4}$/i.test(this.#held)) return this.#complete(`\\${this.#held}`)
    const unit = String.fromCharCode(Number.parseInt(this.#held.slice(1), 16))
    if (!/^[\ud800-\udbff]$/.test(unit)) return this.#complete(unit)
    const before = this.#complete('')
    this.#half = unit
    return before
  }

  #complete(text: string): string {
    const whole = this.#half + text
    this.#half = ''
    return whole
  }
}
