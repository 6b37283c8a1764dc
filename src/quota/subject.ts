/** What can run out: an organization's balance, or the limit of one of its keys. */
export interface Subject {
  readonly kind: SubjectKind
  readonly id: string
  /** Whose account guards the subject's rows. */
  readonly organizationId: string
}

export type SubjectKind = 'organization' | 'key'
