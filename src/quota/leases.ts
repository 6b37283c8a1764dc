import { Lease } from './lease.ts'
import type { Subject } from './subject.ts'

/** All leases that this node has, or may have, by their subjects' ids. */
export class Leases {
  readonly #bySubject = new Map<string, Lease>()

  ofOrganization(organizationId: string): Lease {
    return (
      this.#bySubject.get(organizationId) ??
      this.#add({ kind: 'organization', id: organizationId, organizationId: organizationId })
    )
  }

  ofKey(keyId: string, organizationId: string): Lease {
    return this.#bySubject.get(keyId) ?? this.#add({ kind: 'key', id: keyId, organizationId })
  }

  of(subject: Subject): Lease {
    return this.#bySubject.get(subject.id) ?? this.#add(subject)
  }

  find(subjectId: string): Lease | undefined {
    return this.#bySubject.get(subjectId)
  }

  list(): Lease[] {
    return [...this.#bySubject.values()]
  }

  /** A span of time has passed; leases that nobody has used for long are forgotten. */
  tick(): void {
    for (const [id, lease] of this.#bySubject) {
      lease.tick()
      if (lease.isEmpty) this.#bySubject.delete(id)
    }
  }

  #add(subject: Subject): Lease {
    const lease = new Lease(subject)
    this.#bySubject.set(subject.id, lease)
    return lease
  }
}
