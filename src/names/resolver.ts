/** What one question to DNS brought: records, none at all, or trouble on the way that says nothing of the name. */
export type Answer<T> =
  | { readonly kind: "records"; readonly records: readonly T[] }
  /** There is no such name, or it has no records of the kind. */
  | { readonly kind: "none" }
  /** Silence, or an answer that is no answer. */
  | { readonly kind: "trouble"; readonly detail: string };

export interface AddressRecord {
  readonly address: string;
  /** Seconds. */
  readonly ttl: number;
}

/** RFC 2782. */
export interface SrvRecord {
  readonly name: string;
  readonly port: number;
  readonly priority: number;
  readonly weight: number;
}

/** RFC 3403. */
export interface NaptrRecord {
  readonly order: number;
  readonly preference: number;
  readonly flags: string;
  readonly service: string;
  readonly replacement: string;
}

/** Asks DNS. Never rejects, and each question comes to its end in bounded time. */
export interface Resolver {
  addresses(name: string, family: 4 | 6): Promise<Answer<AddressRecord>>;
  srv(name: string): Promise<Answer<SrvRecord>>;
  naptr(name: string): Promise<Answer<NaptrRecord>>;
}
