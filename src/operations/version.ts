import { readFileSync } from "node:fs";

/** The version in package.json, two folders up from the source as from what is built of it. */
export const version: string = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
