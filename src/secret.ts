/** A text that shows itself to nobody who does not ask for it by name: not in logs, not in JSON, not in errors. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }
}

/** What a session agent knows us by when it challenges us. */
export interface Credentials {
  readonly user: string;
  readonly password: Secret;
  /** The realm that they are for; "" = any. */
  readonly realm: string;
}
