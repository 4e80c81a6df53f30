/** Keys under which somebody might write a secret down. */
const secretKey = /(?:pas+(?:$|[-_ ]?w|[-_ ]?phrase)|psw|pwd|secret|credential)/i;

/** Of keys that say where a secret is kept. */
const keepsElsewhere = /(?:env|file)$/i;

/** Whether a secret may stand at a path, be it by mistake. */
export const mayHoldSecret = (path: string): boolean => secretKey.test(path.slice(path.lastIndexOf(".") + 1));

/** Whether a key that is not known looks as if a secret stood under it. */
export const looksSecret = (key: string): boolean => secretKey.test(key) && !keepsElsewhere.test(key);

/** The complaint about such a key. What stands there is told to nobody. */
export const misplacedSecret =
  "found a secret, expected auth-password-env or auth-password-file of the session agent to say where it is kept";

/** `sip:user:password@`, up to the last at sign, as a password may have one in it. */
const userAndPassword = /^((?:sips?|sag|tel):[^:]*|(?!(?:sips?|sag|tel):)[^:]*):.+@/is;

/** A URI (RFC 3261 section 19.1.1), or what should be one, with its password left out. */
export const withoutPassword = (uri: string): string => uri.replace(userAndPassword, "$1:[secret]@");

/** Whether a URI has a password in it. */
export const carriesPassword = (uri: string): boolean => userAndPassword.test(uri);

/** The same for all URIs within a message, be they in quotes or not. */
export const withoutPasswords = (message: string): string =>
  message
    .split('"')
    .map((part, at) => (at % 2 > 0 ? withoutPassword(part) : part.replace(/\S+/g, withoutPassword)))
    .join('"');

/** Whether what should be the name of a PEM file is the text of one. */
export const isPem = (name: string): boolean => name.includes("-----BEGIN");
