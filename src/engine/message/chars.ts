/*
 * Character classes of RFC 3261 section 25.1 as bits in one table over the 256 latin1 codes. Loops over text stay inside its
 * length: a read behind the end (NaN) would make the compiled code several times slower.
 */

/** May stand in a token: methods, header and parameter names, tags. */
export const TOKEN = 1;
/** May stand in a URI as far as this engine looks: no white space, controls, quotes or angle brackets. */
export const URI = 2;
/** May stand in a host name or IPv4 address; the underscore is against the grammar but real. */
export const HOST = 4;
/** Space, tab, and the CR and LF of a folded line. */
export const SPACE = 8;
/** May stand in an unquoted parameter value: a token, a host, and what lenient peers put there. */
export const PARAM_VALUE = 16;
/** May stand in an unquoted display name. Wider than the grammar (UTF-8, parentheses), but nothing that splits or ends a value. */
export const DISPLAY = 32;

const alphanumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const classes = new Uint8Array(256);

for (let code = 0; code < 256; code++) {
  const char = String.fromCharCode(code);
  let bits = 0;
  if (alphanumeric.includes(char) || "-.!%*_+`'~".includes(char)) bits |= TOKEN;
  if (alphanumeric.includes(char) || "-._".includes(char)) bits |= HOST;
  if (" \t\r\n".includes(char)) bits |= SPACE;
  if (code > 32 && code !== 127 && !'"<>'.includes(char)) bits |= URI;
  if (code > 32 && code !== 127 && !';,"'.includes(char)) bits |= PARAM_VALUE;
  if (!';,"<>'.includes(char)) bits |= DISPLAY;
  classes[code] = bits;
}

/** Whether a character code belongs to the class. */
function isOf(charCode: number, charClass: number): boolean {
  return ((classes[charCode] ?? 0) & charClass) !== 0;
}

/** The first position in [at, end) whose character does not belong to the class, else `end`. */
export function skipClass(text: string, at: number, end: number, charClass: number): number {
  while (at < end && ((classes[text.charCodeAt(at)] ?? 0) & charClass) !== 0) at++;
  return at;
}

/** The first position at or after `at` that holds no white space. */
export function skipSpace(text: string, at: number): number {
  return skipClass(text, at, text.length, SPACE);
}

/** `end` moved back over white space, not before `start`. */
export function trimmedEnd(text: string, start: number, end: number): number {
  while (end > start && isOf(text.charCodeAt(end - 1), SPACE)) end--;
  return end;
}

/** Whether the whole of `text` is one token, and not empty. */
export function isToken(text: string): boolean {
  return text.length > 0 && skipClass(text, 0, text.length, TOKEN) === text.length;
}
