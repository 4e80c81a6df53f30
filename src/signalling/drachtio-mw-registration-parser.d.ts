declare module "drachtio-mw-registration-parser" {
  /** What it reads of a request of drachtio-srf. */
  interface Registering<Contact> {
    readonly method: string;
    has(header: string): boolean;
    get(header: string): string | undefined;
    getParsedHeader(header: "Contact"): readonly Contact[];
    getParsedHeader(header: "To"): { readonly uri: string };
    /** Its result. */
    registration?: {
      readonly type: "register" | "unregister";
      /** Seconds, of the first Contact; NaN where nothing says. */
      readonly expires: number;
      readonly contact: readonly Contact[];
      /** The URI of To. */
      readonly aor: string;
    };
  }

  /** Calls `next` when the request has a `registration`; else it has refused it by `response.send`. */
  export default function parse<Contact extends { readonly params: { readonly expires?: string } }>(
    request: Registering<Contact>,
    response: { send(status: number, options?: object): void },
    next: () => void,
  ): void;
}
