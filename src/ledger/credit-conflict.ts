const SENTENCES = Object.freeze({
  'more-than-credited': 'More would be taken back than was ever credited.',
  'another-operation': 'This operation key was used before, for another organization or amount.',
})

/** Why credit was not posted. Nothing has changed: the transaction must be rolled back. */
export class CreditConflict extends Error {
  override readonly name = 'CreditConflict'

  constructor(reason: keyof typeof SENTENCES) {
    super(SENTENCES[reason])
  }
}
